# python tools/train.py configs/classification/mas/mas_mlp_permuted-mnist.py
_base_ = [
    '../_base_/settings/mlp_permuted-mnist.py',
    '../_base_/methods/mas.py',
]
