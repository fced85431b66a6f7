# python tools/train.py configs/classification/joint/joint_mlp_permuted-digits.py
_base_ = [
    '../_base_/settings/mlp_permuted-digits.py',
    '../_base_/methods/joint.py',
]
