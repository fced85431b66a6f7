# python tools/train.py configs/classification/ewc/online-ewc_mlp_permuted-mnist.py
_base_ = [
    '../_base_/settings/mlp_permuted-mnist.py',
    '../_base_/methods/ewc_online.py',
]
