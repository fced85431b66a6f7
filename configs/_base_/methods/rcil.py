# RCIL: representation compensation and pooled cube distillation on top of
# MiB's losses. `match` names the convolutions that are doubled: the 3x3 of
# every residual block (ResNet), the depthwise 3x3 of every inverted one
# (MobileNetV2; they come first in `layer1`, which does not widen, and second
# elsewhere), and those of the ASPP.


def lr(value):
    return dict(optim_wrapper=dict(optimizer=dict(lr=value)))


method = dict(
    name='RCIL',
    every=dict(
        model=dict(
            rc=dict(
                match=r'(\.conv2|layer(1\.0\.conv\.0|[2-7]\.\d\.conv\.1)\.conv'
                r'|aspp_convs\.\d)$'),
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
        hooks=dict(transition=dict(classifier_init='balanced'))),
    by_scenario={
        'voc': dict(first=lr(0.02)),
        'ade': dict(
            later=dict(
                model=dict(
                    losses=dict(cube=dict(factor=5e-6, last_factor=5e-7))))),
        # every pixel of a new city has its label, and no class is new
        'cityscapes_domain': dict(
            first=lr(0.02),
            later=dict(
                model=dict(
                    losses=dict(
                        pixel=dict(type='mmseg_spwc.PixelCrossEntropyLoss'),
                        kd=None,
                        cube=dict(
                            factor=5e-4,
                            last_factor=1e-4,
                            channel_factor=1e-4,
                            channel_last_factor=0.))),
                hooks=dict(transition=dict(classifier_init='default')),
                **lr(0.002))),
        'cityscapes_domain 11-1': dict(later=lr(0.004)),
        # a step has a hundred iterations, in which 100 lets no new class in
        'shapes': dict(
            later=dict(model=dict(losses=dict(kd=dict(loss_weight=5.))))),
    })
