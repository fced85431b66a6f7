# python tools/train.py configs/classification/blip/blip_mlp_permuted-digits.py
_base_ = [
    '../_base_/settings/mlp_permuted-digits.py',
    '../_base_/methods/blip.py',
]
