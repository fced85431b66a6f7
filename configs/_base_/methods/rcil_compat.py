# RCIL as published: no activation after the stem, the trained branch goes
# on (so a step starts with a jump), new biases are left as they are.
_base_ = './rcil.py'
method = dict(
    name='RCIL (published)',
    every=dict(
        model=dict(
            backbone=dict(stem_act=False),
            decode_head=dict(init_gain_slope=1.),
            rc=dict(init='carry'))),
    later=dict(hooks=dict(transition=dict(classifier_init='background'))))
