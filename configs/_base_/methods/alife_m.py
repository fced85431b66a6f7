# ALIFE-M: ALIFE, then old classes replayed as rotated features while the
# classifiers alone are trained. No image of an old step is kept.
_base_ = './alife.py'


def replay(**options):
    return dict(hooks=dict(feature_replay=options))


def weights(ali, mem):
    return replay(classifier=dict(ali=ali, mem=mem))


method = dict(
    name='ALIFE-M',
    every=replay(
        type='mmseg_spwc.FeatureReplayHook',
        memory_size=1000,
        min_region=0.005,
        rotation=dict(lr=1e-2, epochs=10, mix=0.99),
        classifier=dict(lr=1e-3, epochs=1, ali=1., mem=1.)),
    by_scenario={
        'voc 19-1': dict(
            every=replay(
                rotation=dict(mix=0.95), classifier=dict(ali=1., mem=1.))),
        'voc 15-5': dict(
            every=replay(
                rotation=dict(mix=0.95), classifier=dict(ali=1., mem=10.))),
        'voc 15-1': dict(
            step_1=weights(ali=3., mem=1.),
            step_2=weights(ali=5., mem=20.),
            step_3=weights(ali=2., mem=1.),
            step_4=weights(ali=3., mem=2.),
            step_5=weights(ali=1., mem=1.)),
        'ade 100-50': dict(step_1=weights(ali=0., mem=0.5)),
        'ade 100-10': dict(
            step_1=weights(ali=5., mem=2.),
            step_2=weights(ali=5., mem=1.),
            step_3=weights(ali=2., mem=1.),
            step_4=weights(ali=0., mem=0.1),
            step_5=weights(ali=0., mem=0.5)),
        'ade 50-50': dict(
            step_1=weights(ali=0., mem=0.1),
            step_2=weights(ali=0., mem=0.5)),
    })
