# Tiny ImageNet from easy to hard classes with a network that a CPU trains in
# half a minute: 12288-100-100 and a head per task.
_base_ = [
    '../../../../configs/classification/_base_/datasets/tiny_imagenet.py',
    '../../../../configs/classification/_base_/models/small_vgg.py',
    '../../../../configs/classification/_base_/default_runtime.py',
]
scenario = dict(order='easy-first')
total_batch_size = 50
model = dict(
    backbone=dict(
        _delete_=True,
        type='mmseg_spwc.MLPBackbone',
        in_features=12288,
        hidden=(100, 100)),
    head=dict(in_channels=100))
optim_wrapper = dict(
    type='OptimWrapper', optimizer=dict(type='SGD', lr=0.01, momentum=0.9))
train_cfg = dict(by_epoch=True, max_epochs=5)
