# The penalty of EWC: every earlier step around its own anchor, lambda/2,
# per-sample Fisher information at labels drawn from the model. The proximal
# update follows the same penalty and is stable for any strength and lr.
method = dict(
    name='EWC',
    every=dict(
        optim_wrapper=dict(type='mmseg_spwc.ConsolidatedOptimWrapper'),
        hooks=dict(
            consolidation=dict(
                type='mmseg_spwc.ConsolidationHook',
                importance=dict(type='fisher', labels='sample'),
                strength=1.,
                half=True,
                form='task',
                update='proximal',
                n_samples=None))))
