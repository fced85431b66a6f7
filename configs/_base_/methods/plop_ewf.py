# EWF on PLOP, of which the later steps of VOC 10-1 last 30 epochs here.
_base_ = './plop.py'
method = dict(
    name='PLOP+EWF',
    every=dict(hooks=dict(fusion=dict(type='mmseg_spwc.WeightFusionHook'))),
    later=dict(
        model=dict(frozen='old_rows'),
        train_cfg=dict(max_epochs=dict(by_scenario={'voc 10-1': 30}))))
