# RCIL with its factors for ADE20K.
_base_ = './rcil.py'
method = dict(
    later=dict(
        model=dict(
            losses=dict(cube=dict(factor=5e-6, last_factor=5e-7)))))
