# Learning without Forgetting: distils the old logits, T = 1.
method = dict(
    name='LwF',
    every=dict(
        model=dict(
            losses=dict(
                pixel=dict(type='mmseg_spwc.PixelCrossEntropyLoss')))),
    later=dict(
        model=dict(
            losses=dict(
                kd=dict(type='mmseg_spwc.DistillationLoss', loss_weight=100.)
            ))))
