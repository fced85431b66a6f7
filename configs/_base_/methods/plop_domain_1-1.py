# PLOP for one city after the other: a larger factor for the logits.
_base_ = './plop_domain.py'
method = dict(
    later=dict(model=dict(losses=dict(pod=dict(last_factor=1e-3)))))
