# LGKD on PLOP: on a pixel of a new class, what the old model called background
# is distilled into that class. In VOC 15-1 that part has factor 0, as
# published. Nothing is published for VOC 10-1 and 5-3, and for ADE20K 100-5,
# which have the defaults of the published code.
_base_ = './plop.py'
method = dict(
    name='LGKD',
    first=dict(
        optim_wrapper=dict(
            optimizer=dict(lr=dict(by_scenario=dict(ade=0.02))))),
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
                    }))),
        optim_wrapper=dict(
            optimizer=dict(lr=dict(by_scenario=dict(ade=0.002))))))
