# EWF on RCIL, whose branches are folded before; nothing is published.
_base_ = './rcil.py'
method = dict(
    name='RCIL+EWF',
    every=dict(hooks=dict(fusion=dict(type='mmseg_spwc.WeightFusionHook'))),
    later=dict(model=dict(frozen='old_rows')))
