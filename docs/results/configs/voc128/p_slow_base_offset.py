_base_ = 'p_slow_base.py'
method = dict(later=dict(model=dict(losses=dict(pixel=dict(new_offset=1.)))))
