# The pipelines of the MiB - PLOP - RCIL lineage. `crop_size` is put into the
# transforms and the data preprocessor of every step.
crop_size = 512
train_pipeline = [
    dict(type='LoadImageFromFile'),
    dict(type='LoadAnnotations'),
    dict(type='mmseg_spwc.AreaRandomResizedCrop'),
    dict(type='RandomFlip', prob=0.5),
    dict(type='PackSegInputs'),
]
test_pipeline = [
    dict(type='LoadImageFromFile'),
    dict(type='LoadAnnotations'),
    dict(type='mmseg_spwc.ShortSideCentreCrop'),
    dict(type='PackSegInputs'),
]
train_dataloader = dict(
    num_workers=4,
    persistent_workers=True,
    drop_last=True,
    sampler=dict(type='DefaultSampler', shuffle=True))
test_dataloader = dict(
    batch_size=8,
    num_workers=4,
    sampler=dict(type='DefaultSampler', shuffle=False))
