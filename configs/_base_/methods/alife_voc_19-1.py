# ALIFE with its factors and epochs for VOC 19-1.
_base_ = './alife.py'
method = dict(
    later=dict(
        model=dict(
            losses=dict(ali=dict(loss_weight=1.), kd=dict(loss_weight=1.))),
        train_cfg=dict(max_epochs=5)))
