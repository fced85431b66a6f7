# The leaf's rates with a start of 5 %: the classifier as fast as P's.
_base_ = 'p_slow_base_offset.py'
method = dict(later=dict(optim_wrapper=dict(
    optimizer=dict(lr=4e-4),
    paramwise_cfg=dict(custom_keys={'conv_seg': dict(lr_mult=50.)}))))
