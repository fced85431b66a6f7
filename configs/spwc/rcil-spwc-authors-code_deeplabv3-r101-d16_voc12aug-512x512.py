# python tools/train.py configs/spwc/rcil-spwc-authors-code_deeplabv3-r101-d16_voc12aug-512x512.py
_base_ = [
    '../_base_/models/deeplabv3_r101-d16.py',
    '../_base_/datasets/voc12aug.py',
    '../_base_/methods/rcil_compat.py',
    '../_base_/default_runtime.py',
]
self_paced = dict(name='spWC (authors_code)', rule='authors_code')
# every background pixel gets a pseudo label, however unsure, and an image
# without background has no loss of pixels
method = dict(later=dict(
    model=dict(pseudo_label=dict(confidence=0., compat='plop'))))
