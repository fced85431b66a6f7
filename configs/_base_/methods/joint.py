# Trains every step anew on the data of all steps so far: the upper end.
method = dict(
    name='Joint',
    restart=True,
    every=dict(
        model=dict(
            losses=dict(
                pixel=dict(type='mmseg_spwc.PixelCrossEntropyLoss'))),
        train_dataloader=dict(dataset=dict(cumulative=True))))
