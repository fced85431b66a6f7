# DKD: every class is a yes-or-no question, the background is where none is
# answered yes. Old logits and what speaks for and against them are distilled.
# Its step 0 cannot be shared with other methods.
method = dict(
    name='DKD',
    every=dict(
        model=dict(
            classifier=dict(extra=True, zero_background=True),
            losses=dict(
                pixel=dict(type='mmseg_spwc.NewClassBCELoss'),
                extra=dict(type='mmseg_spwc.ExtraRowLoss'))),
        train_cfg=dict(max_epochs=dict(by_scenario=dict(voc=60, ade=100))),
        optim_wrapper=dict(
            paramwise_cfg=dict(
                custom_keys=dict(
                    decode_head=dict(
                        lr_mult=dict(by_scenario=dict(voc=10., ade=10.))))))),
    first=dict(
        model=dict(
            losses=dict(
                pixel=dict(
                    pos_weight=dict(
                        by_scenario={'default': 2., 'ade': 35.})))),
        optim_wrapper=dict(
            optimizer=dict(
                lr=dict(by_scenario=dict(voc=0.001, ade=0.0025))))),
    later=dict(
        model=dict(
            frozen_norm='.',
            losses=dict(
                pixel=dict(pos_weight=dict(by_scenario=dict(ade=35.))),
                kd=dict(
                    type='mmseg_spwc.BCEDistillationLoss',
                    skip_background=True,
                    loss_weight=5.),
                dkd=dict(
                    type='mmseg_spwc.DecomposedDistillationLoss',
                    loss_weight=5.))),
        optim_wrapper=dict(
            optimizer=dict(
                lr=dict(by_scenario=dict(voc=0.0001, ade=0.00025)),
                weight_decay=0.)),
        hooks=dict(transition=dict(classifier_init='extra'))))
