# ALIFE with its factors and epochs for VOC 15-5.
_base_ = './alife.py'
method = dict(
    later=dict(
        model=dict(
            losses=dict(ali=dict(loss_weight=2.), kd=dict(loss_weight=1.))),
        train_cfg=dict(max_epochs=10)))
