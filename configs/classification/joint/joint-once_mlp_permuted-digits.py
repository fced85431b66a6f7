# python tools/train.py configs/classification/joint/joint-once_mlp_permuted-digits.py
_base_ = [
    '../_base_/settings/mlp_permuted-digits.py',
    '../_base_/methods/joint_once.py',
]
