# LGKD's loss on MiB. Its factors there are not published: these are PLOP's.
_base_ = './mib.py'
method = dict(
    name='MiB+LGKD',
    later=dict(
        model=dict(
            losses=dict(
                lgkd=dict(
                    type='mmseg_spwc.LabelGuidedLoss',
                    by_scenario={
                        'default': dict(prev=10., novel=2.),
                        'shapes': dict(prev=1., novel=1.),
                        'voc 19-1': dict(prev=5., novel=0.5),
                        'voc 15-5': dict(prev=5., novel=1.),
                        'voc 15-1': dict(prev=1., novel=0.),
                        'ade 100-50': dict(prev=1., novel=20.),
                        'ade 100-10': dict(prev=1., novel=1.),
                        'ade 50-50': dict(prev=2., novel=10.)
                    })))))
