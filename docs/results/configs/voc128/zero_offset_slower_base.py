_base_ = 'zero_offset.py'
method = dict(later=dict(optim_wrapper=dict(paramwise_cfg=dict(
    custom_keys={'conv_seg': dict(lr_mult=5.),
                 'conv_seg.convs.0': dict(lr_mult=.1)}))))
