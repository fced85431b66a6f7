# ALIFE-M with its factors and epochs for VOC 15-1, step by step.
_base_ = './alife_voc_15-1.py'
method = dict(
    name='ALIFE-M',
    every=dict(
        hooks=dict(
            feature_replay=dict(type='mmseg_spwc.FeatureReplayHook'))),
    step_1=dict(
        hooks=dict(feature_replay=dict(classifier=dict(ali=3., mem=1.)))),
    step_2=dict(
        hooks=dict(feature_replay=dict(classifier=dict(ali=5., mem=20.)))),
    step_3=dict(
        hooks=dict(feature_replay=dict(classifier=dict(ali=2., mem=1.)))),
    step_4=dict(
        hooks=dict(feature_replay=dict(classifier=dict(ali=3., mem=2.)))),
    step_5=dict(
        hooks=dict(feature_replay=dict(classifier=dict(ali=1., mem=1.)))))
