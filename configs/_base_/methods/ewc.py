# EWC as in the paper. The likelihood of an image is the product over the
# pixels of the small logits, but the loss is their mean: a strength of 1 is no
# more than finetuning (docs/results/shapes.md).
_base_ = '../consolidation/ewc.py'
method = dict(
    every=dict(
        model=dict(
            losses=dict(
                pixel=dict(type='mmseg_spwc.PixelCrossEntropyLoss'))),
        hooks=dict(consolidation=dict(strength=100.))))
