# PLOP: local pooled outputs distilled, background relabelled by the old
# model. The published entropy and median are in plop_compat.py. In
# `cityscapes_domain` every pixel of a new city has its label, and no class is
# new.
method = dict(
    name='PLOP',
    every=dict(
        model=dict(
            losses=dict(
                pixel=dict(type='mmseg_spwc.PixelCrossEntropyLoss')))),
    later=dict(
        model=dict(
            pre_activation=True,
            pseudo_label=dict(
                by_scenario={
                    'default': dict(portion=0.5, floor=0.001),
                    'cityscapes_domain': None
                }),
            losses=dict(
                pod=dict(
                    type='mmseg_spwc.LocalPODLoss',
                    # all maps, and the logits
                    by_scenario={
                        'default': dict(factor=0.01, last_factor=0.0005),
                        'ade': dict(factor=1e-3, last_factor=1e-5),
                        'cityscapes_domain': dict(
                            factor=1e-4, last_factor=1e-4),
                        'cityscapes_domain 1-1': dict(
                            factor=1e-4, last_factor=1e-3)
                    }))),
        train_cfg=dict(max_epochs=dict(by_scenario={'voc 10-1': 10})),
        hooks=dict(
            transition=dict(
                classifier_init=dict(
                    by_scenario={
                        'default': 'balanced',
                        'cityscapes_domain': 'default'
                    })),
            pseudo_label=dict(
                by_scenario={
                    'default': dict(type='mmseg_spwc.PseudoLabelHook'),
                    'cityscapes_domain': None
                }))))
