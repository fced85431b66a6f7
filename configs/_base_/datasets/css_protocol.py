# The protocol of the MiB - PLOP - RCIL lineage, which datasets build on:
# crops, batch 24, 30 epochs a step, lr 0.01 and then 0.001, poly 0.9 by
# iteration. `crop_size` is put into the transforms and the data preprocessor
# of every step.
crop_size = 512
train_pipeline = [
    dict(type='LoadImageFromFile'),
    dict(type='LoadAnnotations'),
    dict(type='mmseg_spwc.AreaRandomResizedCrop'),
    dict(type='mmseg_spwc.RandomMirror', prob=0.5),
    dict(type='mmseg_spwc.PackSample'),
]
test_pipeline = [
    dict(type='LoadImageFromFile'),
    dict(type='LoadAnnotations'),
    dict(type='mmseg_spwc.ShortSideCentreCrop'),
    dict(type='mmseg_spwc.PackSample'),
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

total_batch_size = 24
train_cfg = dict(type='EpochBasedTrainLoop', max_epochs=30)
optim_wrapper = dict(
    type='OptimWrapper',
    optimizer=dict(
        type='SGD', lr=0.01, momentum=0.9, nesterov=True, weight_decay=1e-4))
param_scheduler = dict(
    type='mmseg_spwc.PolynomialLR',
    power=0.9,
    by_epoch=True,
    convert_to_iter_based=True)
schedule = dict(later=dict(optim_wrapper=dict(optimizer=dict(lr=0.001))))
