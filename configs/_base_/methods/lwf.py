# Learning without Forgetting: distils the old logits, T = 1.
_base_ = './finetune.py'
method = dict(
    name='LwF',
    later=dict(
        model=dict(
            losses=dict(
                kd=dict(type='mmseg_spwc.DistillationLoss', loss_weight=100.)
            ))))
