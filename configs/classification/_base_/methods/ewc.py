# EWC: every earlier task around its own anchor, lambda/2, per-sample Fisher
# information at labels drawn from the model.
method = dict(
    name='EWC',
    every=dict(
        optim_wrapper=dict(type='mmseg_spwc.ConsolidatedOptimWrapper'),
        hooks=dict(
            consolidation=dict(
                type='mmseg_spwc.ConsolidationHook',
                importance=dict(type='fisher', labels='sample'),
                strength=100.,
                half=True,
                form='task',
                update='proximal',
                n_samples=4000))))
