# ALIFE with its factors and epochs for VOC 15-1, step by step.
_base_ = './alife.py'
method = dict(
    later=dict(train_cfg=dict(max_epochs=5)),
    step_1=dict(
        model=dict(
            losses=dict(ali=dict(loss_weight=3.), kd=dict(loss_weight=1.))),
        train_cfg=dict(max_epochs=10)),
    step_2=dict(
        model=dict(
            losses=dict(ali=dict(loss_weight=5.), kd=dict(loss_weight=10.)))),
    step_3=dict(
        model=dict(
            losses=dict(ali=dict(loss_weight=2.), kd=dict(loss_weight=1.)))),
    step_4=dict(
        model=dict(
            losses=dict(ali=dict(loss_weight=3.), kd=dict(loss_weight=10.)))),
    step_5=dict(
        model=dict(
            losses=dict(ali=dict(loss_weight=2.), kd=dict(loss_weight=1.)))))
