# DeepLabV3 with MobileNetV2 at output stride 16, for images of 128 px on a
# CPU. Their map is 8x8, so the dilations are those of a 32x32 map scaled down.
# The scenario fills in num_classes.
model = dict(
    type='EncoderDecoder',
    data_preprocessor=dict(
        type='SegDataPreProcessor',
        mean=[123.675, 116.28, 103.53],
        std=[58.395, 57.12, 57.375],
        bgr_to_rgb=True,
        pad_val=0,
        seg_pad_val=255,
        size=(512, 512)),  # `crop_size` wins
    backbone=dict(
        type='MobileNetV2',
        strides=(1, 2, 2, 2, 1, 1, 1),
        dilations=(1, 1, 1, 1, 1, 2, 2),
        out_indices=(1, 2, 4, 6),
        norm_cfg=dict(type='BN', requires_grad=True)),
    decode_head=dict(
        type='mmseg_spwc.DeepLabV3CSSHead',
        in_channels=320,
        in_index=3,
        channels=128,
        dilations=(1, 2, 3, 5),
        norm_cfg=dict(type='BN', requires_grad=True),
        align_corners=False),
    train_cfg=dict(),
    test_cfg=dict(mode='whole'))
