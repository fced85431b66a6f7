# ALIFE-M with its factors for ADE20K 100-10, step by step.
_base_ = './alife_ade.py'
method = dict(
    name='ALIFE-M',
    every=dict(
        hooks=dict(
            feature_replay=dict(type='mmseg_spwc.FeatureReplayHook'))),
    step_1=dict(
        hooks=dict(feature_replay=dict(classifier=dict(ali=5., mem=2.)))),
    step_2=dict(
        hooks=dict(feature_replay=dict(classifier=dict(ali=5., mem=1.)))),
    step_3=dict(
        hooks=dict(feature_replay=dict(classifier=dict(ali=2., mem=1.)))),
    step_4=dict(
        hooks=dict(feature_replay=dict(classifier=dict(ali=0., mem=0.1)))),
    step_5=dict(
        hooks=dict(feature_replay=dict(classifier=dict(ali=0., mem=0.5)))))
