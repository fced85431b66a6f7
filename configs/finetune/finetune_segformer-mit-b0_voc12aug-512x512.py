# python tools/train.py configs/finetune/finetune_segformer-mit-b0_voc12aug-512x512.py
_base_ = [
    'mmseg::_base_/models/segformer_mit-b0.py',
    '../_base_/datasets/voc12aug.py',
    '../_base_/methods/finetune.py',
    '../_base_/default_runtime.py',
]
# an optimiser for transformers
no_decay = dict(decay_mult=0.)
optim_wrapper = dict(
    optimizer=dict(_delete_=True, type='AdamW', lr=6e-5, weight_decay=0.01),
    paramwise_cfg=dict(custom_keys=dict(
        pos_block=no_decay, norm=no_decay, head=dict(lr_mult=10.))))
schedule = dict(later=dict(optim_wrapper=dict(optimizer=dict(lr=6e-6))))
