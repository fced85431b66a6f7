# python tools/train.py configs/ewf/mib-ewf-fisher_r18_shapes.py
_base_ = [
    '../_base_/models/deeplabv3_r18-d8-shapes.py',
    '../_base_/datasets/shapes.py',
    '../_base_/methods/mib_ewf.py',
    '../_base_/default_runtime.py',
]
method = dict(
    name='MiB+EWF (Fisher)',
    every=dict(hooks=dict(fusion=dict(
        importance='mmseg_spwc.FisherImportance', n_samples=500))))
