# MiB with the distillation weight its authors give for VOC 15-1.
_base_ = './mib.py'
method = dict(
    later=dict(model=dict(losses=dict(kd=dict(loss_weight=100.)))))
