# python tools/train.py configs/classification/joint/joint_mlp_permuted-mnist.py
_base_ = [
    '../_base_/settings/mlp_permuted-mnist.py',
    '../_base_/methods/joint.py',
]
