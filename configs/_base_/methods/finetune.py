# Trains on each step's data alone and forgets: the lower end.
method = dict(
    name='Finetune',
    every=dict(
        model=dict(
            losses=dict(
                pixel=dict(type='mmseg_spwc.PixelCrossEntropyLoss')))))
