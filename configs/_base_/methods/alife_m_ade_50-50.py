# ALIFE-M with its factors for ADE20K 50-50, step by step.
_base_ = './alife_ade_50-50.py'
method = dict(
    name='ALIFE-M',
    every=dict(
        hooks=dict(
            feature_replay=dict(type='mmseg_spwc.FeatureReplayHook'))),
    step_1=dict(
        hooks=dict(feature_replay=dict(classifier=dict(ali=0., mem=0.1)))),
    step_2=dict(
        hooks=dict(feature_replay=dict(classifier=dict(ali=0., mem=0.5)))))
