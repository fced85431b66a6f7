_base_ = [
    '../models/small_vgg.py',
    '../datasets/cifar100.py',
    '../schedules/small_vgg_20e.py',
    '../default_runtime.py',
]
model = dict(backbone=dict(image_size=32))
