# P, but the rows of the base classes are as slow as the network.
_base_ = 'p.py'
method = dict(later=dict(optim_wrapper=dict(paramwise_cfg=dict(
    custom_keys={'conv_seg.convs.0': dict(lr_mult=1.)}))))
