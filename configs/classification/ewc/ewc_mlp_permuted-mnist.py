# python tools/train.py configs/classification/ewc/ewc_mlp_permuted-mnist.py
_base_ = [
    '../_base_/settings/mlp_permuted-mnist.py',
    '../_base_/methods/ewc.py',
]
