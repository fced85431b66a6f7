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
                rotation=dict(
                    lr=1e-2,
                    epochs=10,
                    mix=dict(
                        by_scenario={
                            'default': 0.99,
                            'voc 19-1': 0.95,
                            'voc 15-5': 0.95
                        })),
                classifier=dict(
                    lr=1e-3,
                    epochs=1,
                    by_scenario={
                        'default': dict(ali=1., mem=1.),
                        'voc 15-5': dict(ali=1., mem=10.),
                        'voc 15-1 step_1': dict(ali=3., mem=1.),
                        'voc 15-1 step_2': dict(ali=5., mem=20.),
                        'voc 15-1 step_3': dict(ali=2., mem=1.),
                        'voc 15-1 step_4': dict(ali=3., mem=2.),
                        'voc 15-1 step_5': dict(ali=1., mem=1.),
                        'ade 100-50 step_1': dict(ali=0., mem=0.5),
                        'ade 100-10 step_1': dict(ali=5., mem=2.),
                        'ade 100-10 step_2': dict(ali=5., mem=1.),
                        'ade 100-10 step_3': dict(ali=2., mem=1.),
                        'ade 100-10 step_4': dict(ali=0., mem=0.1),
                        'ade 100-10 step_5': dict(ali=0., mem=0.5),
                        'ade 50-50 step_1': dict(ali=0., mem=0.1),
                        'ade 50-50 step_2': dict(ali=0., mem=0.5)
                    })))))
