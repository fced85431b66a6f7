# ALIFE-M with its factors and epochs for VOC 15-5.
_base_ = './alife_voc_15-5.py'
method = dict(
    name='ALIFE-M',
    every=dict(
        hooks=dict(
            feature_replay=dict(
                type='mmseg_spwc.FeatureReplayHook',
                rotation=dict(mix=0.95),
                classifier=dict(ali=1., mem=10.)))))
