# VOC at 128 px, DeepLabV3 MobileNetV2: hours on a CPU.
_base_ = [
    '../models/deeplabv3_mobilenetv2-d16.py',
    '../datasets/voc12aug_128px.py',
    '../schedules/css_voc128.py',
    '../default_runtime.py',
]
