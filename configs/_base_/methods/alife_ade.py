# ALIFE with its factors for ADE20K 100-50 and 100-10.
_base_ = './alife.py'
method = dict(
    later=dict(
        model=dict(
            losses=dict(ali=dict(loss_weight=1.), kd=dict(loss_weight=1.)))))
