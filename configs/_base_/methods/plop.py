# PLOP: local pooled outputs distilled, background relabelled by the old
# model. The published entropy and median are in plop_compat.py.
_base_ = './finetune.py'
method = dict(
    name='PLOP',
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
            pseudo_label=dict(type='mmseg_spwc.PseudoLabelHook'))))
