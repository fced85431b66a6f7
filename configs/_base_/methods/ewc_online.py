# Online EWC for pixels; see ewc.py for its strength.
_base_ = '../consolidation/ewc_online.py'
method = dict(
    every=dict(
        model=dict(
            losses=dict(
                pixel=dict(type='mmseg_spwc.PixelCrossEntropyLoss'))),
        hooks=dict(consolidation=dict(strength=100.))))
