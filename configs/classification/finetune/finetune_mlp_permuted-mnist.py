# python tools/train.py configs/classification/finetune/finetune_mlp_permuted-mnist.py
_base_ = [
    '../_base_/settings/mlp_permuted-mnist.py',
    '../_base_/methods/finetune.py',
]
