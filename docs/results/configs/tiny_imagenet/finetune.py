_base_ = [
    '_setting.py',
    '../../../../configs/classification/_base_/methods/finetune.py',
]
