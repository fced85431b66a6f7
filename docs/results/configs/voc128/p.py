# P: new classes start with 5 % of the background, all of the classifier is
# fast, norms are frozen.
_base_ = 'published.py'
method = dict(later=dict(
    model=dict(frozen_norm='.'),
    hooks=dict(transition=dict(classifier_init='share', share=0.05)),
    optim_wrapper=dict(paramwise_cfg=dict(
        custom_keys={'conv_seg': dict(lr_mult=10.)}))))
