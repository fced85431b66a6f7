# EWC as in the paper. The likelihood of an image is the product over the
# pixels of the small logits.
_base_ = '../consolidation/ewc.py'
method = dict(
    every=dict(
        model=dict(
            losses=dict(
                pixel=dict(type='mmseg_spwc.PixelCrossEntropyLoss')))))
