# RCIL begins with lr 0.02 on VOC; later steps have 0.001 as all others.
_base_ = './voc12aug_r101_30e.py'
optim_wrapper = dict(optimizer=dict(lr=0.02))
