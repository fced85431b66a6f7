# ALIFE, stage 1: adaptive logit regulariser on the background, distillation
# elsewhere, cross entropy on new classes only, norms of backbone and ASPP
# frozen. VOC 15-5: ali 2, kd 1.
_base_ = './finetune.py'
method = dict(
    name='ALIFE',
    later=dict(
        model=dict(
            frozen_norm=r'^backbone\.|aspp|pool_norm',
            losses=dict(
                pixel=dict(ignore_background=True),
                ali=dict(
                    type='mmseg_spwc.AdaptiveLogitLoss', loss_weight=2.),
                kd=dict(
                    type='mmseg_spwc.AlifeDistillationLoss',
                    loss_weight=1.))),
        hooks=dict(transition=dict(classifier_init='balanced'))))
