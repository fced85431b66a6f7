# RCIL: representation compensation and pooled cube distillation on top of
# MiB's losses. `match` names the convolutions that are doubled: the 3x3 of
# every residual block, and those of the ASPP.
method = dict(
    name='RCIL',
    every=dict(
        model=dict(
            rc=dict(match=r'(\.conv2|aspp_convs\.\d)$'),
            losses=dict(
                pixel=dict(type='mmseg_spwc.PixelCrossEntropyLoss')))),
    first=dict(model=dict(rc=dict(frozen=False))),
    later=dict(
        model=dict(
            losses=dict(
                pixel=dict(type='mmseg_spwc.UnbiasedCrossEntropyLoss'),
                kd=dict(
                    type='mmseg_spwc.UnbiasedDistillationLoss',
                    loss_weight=100.),
                cube=dict(
                    type='mmseg_spwc.PooledCubeLoss',
                    factor=0.01,
                    last_factor=0.0005))),
        hooks=dict(transition=dict(classifier_init='balanced'))))
