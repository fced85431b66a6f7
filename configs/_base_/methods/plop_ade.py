# PLOP with its factors for ADE20K.
_base_ = './plop.py'
method = dict(
    later=dict(
        model=dict(
            losses=dict(pod=dict(factor=1e-3, last_factor=1e-5)))))
