# UCD: MiB, and pixels of one class drawn together in the decoder's maps, as
# far as the old model is sure of them.
_base_ = './mib.py'
method = dict(
    name='UCD',
    later=dict(
        model=dict(
            losses=dict(
                kd=dict(loss_weight=10.),
                contrast=dict(
                    type='mmseg_spwc.ContrastiveDistillationLoss',
                    loss_weight=0.01,
                    temperature=0.07)))))
