# One anchor for all tasks; spWC weights the importances that are added up.
_base_ = [
    '../_base_/settings/mlp_permuted-digits.py',
    '../_base_/methods/ewc_online.py',
    '../_base_/methods/spwc_protected.py',
]
