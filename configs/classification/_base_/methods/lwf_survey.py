_base_ = './lwf.py'
method = dict(later=dict(model=dict(losses=dict(kd=dict(loss_weight=10.)))))
