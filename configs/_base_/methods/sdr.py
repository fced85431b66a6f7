# SDR: MiB, and the backbone's maps of a class kept near its prototype, apart
# from those of others, and sparse. Its distillation has the factor 100
# on real data, and new rows start as torch starts them.
_base_ = './mib.py'
method = dict(
    name='SDR',
    every=dict(
        hooks=dict(
            prototypes=dict(
                type='mmseg_spwc.PrototypeHook', maps='backbone'))),
    later=dict(
        model=dict(
            losses=dict(
                kd=dict(
                    loss_weight=dict(
                        by_scenario=dict(default=100., shapes=10.))),
                sdr=dict(
                    type='mmseg_spwc.DisentanglingLoss',
                    match=0.01,
                    attract=1e-3,
                    repel=1e-3,
                    sparse=1e-3))),
        hooks=dict(transition=dict(classifier_init='default'))))
