# python tools/train.py configs/classification/si/si_mlp_permuted-mnist.py
_base_ = [
    '../_base_/settings/mlp_permuted-mnist.py',
    '../_base_/methods/si.py',
]
