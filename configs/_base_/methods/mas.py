# MAS for pixels.
_base_ = '../consolidation/mas.py'
method = dict(
    every=dict(
        model=dict(
            losses=dict(
                pixel=dict(type='mmseg_spwc.PixelCrossEntropyLoss')))))
