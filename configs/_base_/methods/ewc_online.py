# Online EWC for pixels.
_base_ = '../consolidation/ewc_online.py'
method = dict(
    every=dict(
        model=dict(
            losses=dict(
                pixel=dict(type='mmseg_spwc.PixelCrossEntropyLoss')))))
