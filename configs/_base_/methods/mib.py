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
                    loss_weight=dict(
                        by_scenario={'default': 10., 'voc 15-1': 100.})))),
        hooks=dict(transition=dict(classifier_init='balanced'))))
