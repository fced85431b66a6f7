# python tools/train.py configs/classification/spwc/mas-spwc_mlp_permuted-digits.py
_base_ = [
    '../_base_/settings/mlp_permuted-digits.py',
    '../_base_/methods/mas.py',
    '../_base_/methods/spwc.py',
]
# an anchor for every task, whose penalty spWC can weight
method = dict(every=dict(hooks=dict(consolidation=dict(form='per_step'))))
