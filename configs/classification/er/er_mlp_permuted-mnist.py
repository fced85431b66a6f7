# python tools/train.py configs/classification/er/er_mlp_permuted-mnist.py
_base_ = [
    '../_base_/settings/mlp_permuted-mnist.py',
    '../_base_/methods/er.py',
]
