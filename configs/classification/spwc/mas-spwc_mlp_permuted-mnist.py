_base_ = [
    '../_base_/settings/mlp_permuted-mnist.py',
    '../_base_/methods/mas_task.py',
    '../_base_/methods/spwc.py',
]
