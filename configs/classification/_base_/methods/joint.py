# Trains every task anew on the data of all tasks so far: the upper end.
method = dict(
    name='Joint',
    restart=True,
    every=dict(
        model=dict(freeze_old_heads=False),
        train_dataloader=dict(dataset=dict(cumulative=True))))
