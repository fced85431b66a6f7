# The survey's SMALL: six convolutions, two linear layers, a head per task.
model = dict(
    type='mmseg_spwc.ContinualImageClassifier',
    data_preprocessor=dict(
        type='mmseg_spwc.BatchPreprocessor',
        mean=[123.675, 116.28, 103.53],
        std=[58.395, 57.12, 57.375]),
    backbone=dict(type='mmseg_spwc.SmallVGG', image_size=64),
    head=dict(type='LinearClsHead', num_classes=20, in_channels=128))
