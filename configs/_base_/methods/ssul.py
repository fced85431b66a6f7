# SSUL without stored images: every class is a yes-or-no question, and what has
# no class yet is of the unknown, from which new classes start. Later steps
# train the new head and that of the unknown alone. Its step 0 cannot be shared
# with other methods.
method = dict(
    name='SSUL',
    every=dict(
        model=dict(
            classifier=dict(unknown=True, hidden=True),
            losses=dict(
                pixel=dict(
                    type='mmseg_spwc.ClassBCELoss',
                    unknown=True,
                    mean='valid'))),
        train_cfg=dict(max_epochs=dict(by_scenario=dict(voc=50, ade=100)))),
    first=dict(
        optim_wrapper=dict(
            optimizer=dict(lr=dict(by_scenario=dict(voc=0.001, ade=0.001))),
            paramwise_cfg=dict(
                custom_keys=dict(
                    decode_head=dict(
                        lr_mult=dict(by_scenario=dict(voc=10., ade=10.))))))),
    later=dict(
        model=dict(
            train_only='new_rows',
            frozen_norm='.',
            pseudo_label=dict(confidence=0.7, score='sigmoid')),
        optim_wrapper=dict(
            optimizer=dict(lr=dict(by_scenario=dict(voc=0.01, ade=0.05)))),
        hooks=dict(transition=dict(classifier_init='extra'))))
