# ALIFE, stage 1: adaptive logit regulariser on the background, distillation
# elsewhere, cross entropy on new classes only, norms of backbone and ASPP
# frozen. Nothing is published for VOC 10-1, which has the factors of 15-5,
# and for ADE20K 100-5.
method = dict(
    name='ALIFE',
    every=dict(
        model=dict(
            losses=dict(
                pixel=dict(type='mmseg_spwc.PixelCrossEntropyLoss')))),
    later=dict(
        model=dict(
            frozen_norm=r'^backbone\.|aspp|pool_norm',
            losses=dict(
                pixel=dict(ignore_background=True),
                ali=dict(
                    type='mmseg_spwc.AdaptiveLogitLoss',
                    loss_weight=dict(
                        by_scenario={
                            'default': 2.,
                            'ade': 1.,
                            'voc 19-1': 1.,
                            'voc 15-1 step_1': 3.,
                            'voc 15-1 step_2': 5.,
                            'voc 15-1 step_3': 2.,
                            'voc 15-1 step_4': 3.,
                            'voc 15-1 step_5': 2.
                        })),
                kd=dict(
                    type='mmseg_spwc.AlifeDistillationLoss',
                    loss_weight=dict(
                        by_scenario={
                            'default': 1.,
                            'ade 50-50': 20.,
                            'voc 15-1 step_2': 10.,
                            'voc 15-1 step_4': 10.
                        })))),
        train_cfg=dict(
            max_epochs=dict(
                by_scenario={
                    'voc 19-1': 5,
                    'voc 15-5': 10,
                    'voc 15-1': 5,
                    'voc 15-1 step_1': 10
                })),
        hooks=dict(transition=dict(classifier_init='balanced'))))
