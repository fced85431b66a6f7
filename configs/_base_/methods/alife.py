# ALIFE, stage 1: adaptive logit regulariser on the background, distillation
# elsewhere, cross entropy on new classes only, norms of backbone and ASPP
# frozen. Nothing is published for VOC 10-1, which has the factors of 15-5,
# and for ADE20K 100-5.


def weights(ali, kd, **more):
    losses = dict(ali=dict(loss_weight=ali), kd=dict(loss_weight=kd))
    return dict(model=dict(losses=losses), **more)


def epochs(number):
    return dict(train_cfg=dict(max_epochs=number))


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
                    type='mmseg_spwc.AdaptiveLogitLoss', loss_weight=2.),
                kd=dict(
                    type='mmseg_spwc.AlifeDistillationLoss',
                    loss_weight=1.))),
        hooks=dict(transition=dict(classifier_init='balanced'))),
    by_scenario={
        'voc 19-1': dict(later=weights(ali=1., kd=1., **epochs(5))),
        'voc 15-5': dict(later=weights(ali=2., kd=1., **epochs(10))),
        'voc 15-1': dict(
            later=epochs(5),
            step_1=weights(ali=3., kd=1., **epochs(10)),
            step_2=weights(ali=5., kd=10.),
            step_3=weights(ali=2., kd=1.),
            step_4=weights(ali=3., kd=10.),
            step_5=weights(ali=2., kd=1.)),
        'ade': dict(later=weights(ali=1., kd=1.)),
        'ade 50-50': dict(later=weights(ali=1., kd=20.)),
    })
