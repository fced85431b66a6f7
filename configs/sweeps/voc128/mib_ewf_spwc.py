_base_ = './mib_ewf.py'
self_paced = dict(rule='spwc', k=15)
method = dict(
    every=dict(hooks=dict(fusion=dict(type='mmseg_spwc.SelfPacedFusionHook'))),
    later=dict(model=dict(frozen=None)))
