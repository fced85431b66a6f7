_base_ = [
    '../../../../configs/classification/_base_/settings/mlp_permuted-mnist-fashion.py',
    '../../../../configs/classification/_base_/methods/blip.py',
]
