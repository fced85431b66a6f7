_base_ = [
    '../models/small_vgg.py',
    '../datasets/tiny_imagenet.py',
    '../scenarios/tiny_imagenet_10x20.py',
    '../schedules/small_vgg_20e.py',
    '../default_runtime.py',
]
