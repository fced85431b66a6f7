# LwF-MC (iCaRL's losses without exemplars): one-against-all, also at step 0,
# so its step 0 cannot be shared with other methods.
method = dict(
    name='LwF-MC',
    every=dict(
        model=dict(losses=dict(pixel=dict(type='mmseg_spwc.ClassBCELoss')))),
    later=dict(
        model=dict(
            losses=dict(
                kd=dict(
                    type='mmseg_spwc.BCEDistillationLoss', loss_weight=10.)
            ))))
