# EWC as in the paper: every earlier step around its own anchor, lambda/2,
# per-sample Fisher information at labels drawn from the model. The proximal
# update follows the same penalty and is stable for any strength and lr. The
# likelihood of an image is the product over the pixels of the small logits,
# but the loss is their mean: a strength of 1 is no more than finetuning
# (docs/results/appendix/shapes.md).
method = dict(
    name='EWC',
    every=dict(
        model=dict(
            losses=dict(
                pixel=dict(type='mmseg_spwc.PixelCrossEntropyLoss'))),
        hooks=dict(
            consolidation=dict(
                type='mmseg_spwc.ConsolidationHook',
                importance=dict(
                    type='mmseg_spwc.FisherImportance', labels='sample'),
                strength=100.,
                half=True,
                form='per_step',
                update='proximal',
                n_samples=None))))
