# MiB: cross entropy and distillation that know what background means.
# Its authors used loss_weight=100 for 15-1.
_base_ = './finetune.py'
method = dict(
    name='MiB',
    later=dict(
        model=dict(
            losses=dict(
                pixel=dict(type='mmseg_spwc.UnbiasedCrossEntropyLoss'),
                kd=dict(
                    type='mmseg_spwc.UnbiasedDistillationLoss',
                    loss_weight=10.))),
        hooks=dict(transition=dict(classifier_init='balanced'))))
