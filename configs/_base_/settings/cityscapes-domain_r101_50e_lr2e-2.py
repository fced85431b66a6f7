# RCIL's learning rates on Cityscapes: 0.02, then 0.002.
_base_ = './cityscapes-domain_r101_50e.py'
optim_wrapper = dict(optimizer=dict(lr=0.02))
schedule = dict(later=dict(optim_wrapper=dict(optimizer=dict(lr=0.002))))
