# ALIFE-M: ALIFE, then old classes replayed as rotated features while the
# classifiers alone are trained. No image of an old step is kept.
_base_ = './alife.py'
method = dict(
    name='ALIFE-M',
    every=dict(
        hooks=dict(
            feature_replay=dict(
                type='mmseg_spwc.FeatureReplayHook',
                memory_size=1000,
                min_region=0.005,
                rotation=dict(lr=1e-2, epochs=10, mix=0.99),
                classifier=dict(lr=1e-3, epochs=1, ali=1., mem=1.)))))
