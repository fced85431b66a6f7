# RCIL: representation compensation and pooled cube distillation on top of
# MiB's losses. `match` names the convolutions that are doubled: the 3x3 of
# every residual block (ResNet), the depthwise 3x3 of every inverted one
# (MobileNetV2; they come first in `layer1`, which does not widen, and second
# elsewhere), and those of the ASPP. In `cityscapes_domain` every pixel of a
# new city has its label, and no class is new.
method = dict(
    name='RCIL',
    every=dict(
        model=dict(
            rc=dict(
                match=r'(\.conv2|layer(1\.0\.conv\.0|[2-7]\.\d\.conv\.1)\.conv'
                r'|aspp_convs\.\d)$'),
            losses=dict(
                pixel=dict(type='mmseg_spwc.PixelCrossEntropyLoss')))),
    first=dict(
        model=dict(rc=dict(frozen=False)),
        optim_wrapper=dict(
            optimizer=dict(
                lr=dict(by_scenario=dict(voc=0.02, cityscapes_domain=0.02))))),
    later=dict(
        model=dict(
            losses=dict(
                pixel=dict(
                    type=dict(
                        by_scenario={
                            'default': 'mmseg_spwc.UnbiasedCrossEntropyLoss',
                            'cityscapes_domain':
                            'mmseg_spwc.PixelCrossEntropyLoss'
                        })),
                kd=dict(
                    by_scenario={
                        'default': dict(
                            type='mmseg_spwc.UnbiasedDistillationLoss',
                            loss_weight=100.),
                        # in a hundred iterations 100 lets no new class in
                        'shapes': dict(
                            type='mmseg_spwc.UnbiasedDistillationLoss',
                            loss_weight=5.),
                        'cityscapes_domain': None
                    }),
                cube=dict(
                    type='mmseg_spwc.PooledCubeLoss',
                    by_scenario={
                        'default': dict(factor=0.01, last_factor=0.0005),
                        'ade': dict(factor=5e-6, last_factor=5e-7),
                        'cityscapes_domain': dict(
                            factor=5e-4,
                            last_factor=1e-4,
                            channel_factor=1e-4,
                            channel_last_factor=0.)
                    }))),
        optim_wrapper=dict(
            optimizer=dict(
                lr=dict(
                    by_scenario={
                        'cityscapes_domain': 0.002,
                        'cityscapes_domain 11-1': 0.004
                    }))),
        hooks=dict(
            transition=dict(
                classifier_init=dict(
                    by_scenario={
                        'default': 'balanced',
                        'cityscapes_domain': 'default'
                    })))))
