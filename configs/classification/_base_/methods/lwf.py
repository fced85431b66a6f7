# Learning without Forgetting: distils every old head on the new images, T=2.
method = dict(
    name='LwF',
    every=dict(model=dict(freeze_old_heads=False)),
    later=dict(
        model=dict(
            losses=dict(
                kd=dict(
                    type='mmseg_spwc.HeadDistillationLoss',
                    temperature=2.,
                    loss_weight=1.)))))
