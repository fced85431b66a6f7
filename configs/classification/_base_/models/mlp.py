# 1024-400-400 and a head: 574 410 parameters with ten outputs.
model = dict(
    type='mmseg_spwc.ContinualImageClassifier',
    data_preprocessor=dict(
        type='mmseg_spwc.BatchPreprocessor', mean=[0.], std=[255.]),
    backbone=dict(
        type='mmseg_spwc.MLPBackbone', in_features=1024, hidden=(400, 400)),
    head=dict(type='LinearClsHead', num_classes=10, in_channels=400))
