# python tools/train.py configs/classification/spwc/mas-spwc_small-vgg_tiny-imagenet.py
_base_ = [
    '../_base_/settings/small-vgg_tiny-imagenet.py',
    '../_base_/methods/mas.py',
    '../_base_/methods/spwc.py',
]
# an anchor for every task, whose penalty spWC can weight
method = dict(every=dict(hooks=dict(consolidation=dict(form='per_step'))))
