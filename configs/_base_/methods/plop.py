# PLOP: local pooled outputs distilled, background relabelled by the old
# model. The published entropy and median are in plop_compat.py.


def pod(**factors):
    """Factors of the pooled outputs: all maps, and the logits."""
    return dict(losses=dict(pod=factors))


method = dict(
    name='PLOP',
    every=dict(
        model=dict(
            losses=dict(
                pixel=dict(type='mmseg_spwc.PixelCrossEntropyLoss')))),
    later=dict(
        model=dict(
            pre_activation=True,
            pseudo_label=dict(portion=0.5, floor=0.001),
            losses=dict(
                pod=dict(
                    type='mmseg_spwc.LocalPODLoss',
                    factor=0.01,
                    last_factor=0.0005))),
        hooks=dict(
            transition=dict(classifier_init='balanced'),
            pseudo_label=dict(type='mmseg_spwc.PseudoLabelHook'))),
    by_scenario={
        'voc 10-1': dict(later=dict(train_cfg=dict(max_epochs=10))),
        'ade': dict(later=dict(model=pod(factor=1e-3, last_factor=1e-5))),
        # every pixel of a new city has its label, and no class is new
        'cityscapes_domain': dict(
            later=dict(
                model=dict(
                    pseudo_label=None, **pod(factor=1e-4, last_factor=1e-4)),
                hooks=dict(
                    transition=dict(classifier_init='default'),
                    pseudo_label=None))),
        'cityscapes_domain 1-1': dict(
            later=dict(model=pod(last_factor=1e-3))),
    })
