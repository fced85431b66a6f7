_base_ = [
    '../models/small_vgg.py',
    '../datasets/tiny_imagenet.py',
    '../schedules/small_vgg_20e.py',
    '../default_runtime.py',
]
