# 128 px VOC on a CPU.
_base_ = './css_30e.py'
total_batch_size = 16
train_cfg = dict(max_epochs=20)
optim_wrapper = dict(optimizer=dict(lr=0.02))
schedule = dict(
    later=dict(
        train_cfg=dict(max_epochs=10),
        optim_wrapper=dict(optimizer=dict(lr=0.002))))
