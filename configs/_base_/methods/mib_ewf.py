# EWF on MiB: after a step, the network goes back part of the way to the one
# before it. Old classifiers are frozen; the weight of MiB's distillation is
# that of EWF's authors.
_base_ = './mib.py'
method = dict(
    name='MiB+EWF',
    every=dict(hooks=dict(fusion=dict(type='mmseg_spwc.WeightFusionHook'))),
    later=dict(
        model=dict(
            frozen='old_rows',
            losses=dict(
                kd=dict(
                    loss_weight=dict(
                        by_scenario={
                            'voc 15-1': 10.,
                            'ade 100-10': 100.,
                            'ade 100-5': 100.
                        }))))))
