# A DeepLabV3 of 0.3 M parameters at output stride 8, for the generated shapes
# of 64 px: small enough to train a whole sequence on two CPU cores.
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
        type='mmseg_spwc.LeakyResNet',
        depth=18,
        stem_channels=16,
        base_channels=8,
        strides=(1, 2, 1, 1),
        dilations=(1, 1, 2, 2),
        norm_cfg=dict(type='BN', requires_grad=True)),
    decode_head=dict(
        type='mmseg_spwc.DeepLabV3CSSHead',
        in_channels=64,
        in_index=3,
        channels=48,
        dilations=(1, 2, 3, 4),
        norm_cfg=dict(type='BN', requires_grad=True),
        align_corners=False),
    train_cfg=dict(),
    test_cfg=dict(mode='whole'))
