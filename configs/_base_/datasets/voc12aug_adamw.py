# VOC trained as transformers are: AdamW, a fast head, no decay of norms and of
# embeddings of positions. Methods that set SGD's rates (RCIL, DFT*, DKD, SSUL)
# need their own.
_base_ = './voc12aug.py'
no_decay = dict(decay_mult=0.)
optim_wrapper = dict(
    optimizer=dict(_delete_=True, type='AdamW', lr=6e-5, weight_decay=0.01),
    paramwise_cfg=dict(
        custom_keys=dict(
            pos_block=no_decay,
            absolute_pos_embed=no_decay,
            relative_position_bias_table=no_decay,
            norm=no_decay,
            head=dict(lr_mult=10.))))
schedule = dict(later=dict(optim_wrapper=dict(optimizer=dict(lr=6e-6))))
