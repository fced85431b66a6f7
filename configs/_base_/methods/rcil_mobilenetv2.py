# RCIL for MobileNetV2: the depthwise 3x3 of every block are doubled, which
# come second in a block, and first in `layer1`, which does not widen. The
# short steps of VOC at 128 px do better with less than the published
# distillation weight of 100 (docs/results/voc128.md).
_base_ = './rcil.py'
depthwise = r'layer(1\.0\.conv\.0|[2-7]\.\d\.conv\.1)\.conv'
method = dict(
    every=dict(
        model=dict(rc=dict(match=rf'({depthwise}|aspp_convs\.\d)$'))),
    later=dict(model=dict(losses=dict(kd=dict(loss_weight=20.)))))
