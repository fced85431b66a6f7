# EWC as in the paper: every earlier step around its own anchor, lambda/2,
# per-image Fisher information at labels drawn from the model. The likelihood
# of an image is the product over the pixels of the small logits. The proximal
# update follows the same penalty and is stable for any strength and lr.
_base_ = './finetune.py'
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
