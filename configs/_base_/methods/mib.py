# MiB: cross entropy and distillation that know what background means. The
# weight for VOC 15-1 is that of its authors.
method = dict(
    name='MiB',
    every=dict(
        model=dict(
            losses=dict(
                pixel=dict(type='mmseg_spwc.PixelCrossEntropyLoss')))),
    later=dict(
        model=dict(
            losses=dict(
                pixel=dict(type='mmseg_spwc.UnbiasedCrossEntropyLoss'),
                kd=dict(
                    type='mmseg_spwc.UnbiasedDistillationLoss',
                    loss_weight=10.))),
        hooks=dict(transition=dict(classifier_init='balanced'))),
    by_scenario={
        'voc 15-1':
        dict(later=dict(model=dict(losses=dict(kd=dict(loss_weight=100.)))))
    })
