# REMINDER: PLOP, and on pixels of a new class the old classes that look like
# it distilled more than the others. Published overlapped, with batches of 16
# to 32 on VOC and 10 on ADE20K.
_base_ = './plop.py'
method = dict(
    name='REMINDER',
    every=dict(
        hooks=dict(prototypes=dict(type='mmseg_spwc.PrototypeHook'))),
    later=dict(
        model=dict(
            losses=dict(
                csw=dict(
                    type='mmseg_spwc.ClassSimilarityLoss',
                    loss_weight=0.5,
                    temperature=3.,
                    delta=dict(by_scenario=dict(default=0., ade=1.))))),
        train_cfg=dict(max_epochs=dict(by_scenario=dict(ade=70))),
        optim_wrapper=dict(
            optimizer=dict(lr=dict(by_scenario={'ade 100-50': 8e-4})))))
