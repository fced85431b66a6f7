# NeST on MiB: before a step new rows are learnt as transforms of old ones.
# The background keeps its bias.
_base_ = './mib.py'
method = dict(
    name='MiB+NeST',
    first=dict(
        optim_wrapper=dict(
            optimizer=dict(lr=dict(by_scenario=dict(voc=0.02, ade=0.02))))),
    later=dict(
        model=dict(losses=dict(kd=dict(loss_weight=10.))),
        train_cfg=dict(max_epochs=dict(by_scenario={'voc 10-1': 10})),
        hooks=dict(
            transition=dict(classifier_init='default'),
            pretuning=dict(
                type='mmseg_spwc.PretuningHook',
                epochs=dict(by_scenario={'default': 5, 'ade 100-5': 15}),
                lr_scale=dict(
                    by_scenario={'default': 1., 'ade 100-5': 500.})))))
