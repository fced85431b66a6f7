# VOC 2012 with the SBD masks, DeepLabV3 R101, 30 epochs a step.
_base_ = [
    '../models/deeplabv3_r101-d16.py',
    '../datasets/voc12aug.py',
    '../schedules/css_30e.py',
    '../default_runtime.py',
]
