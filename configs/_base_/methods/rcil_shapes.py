# RCIL for the small demo network: a step there has a hundred iterations, in
# which the published weight of 100 lets no new class in.
_base_ = './rcil.py'
method = dict(later=dict(model=dict(losses=dict(kd=dict(loss_weight=5.)))))
