# DeepLabV3 with ResNet-101 at output stride 16, as MiB, PLOP, RCIL and spWC
# use it: 58.04 M parameters for the 21 classes of VOC.
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
        depth=101,
        strides=(1, 2, 2, 1),
        dilations=(1, 1, 1, 2),
        stem_act=True,  # the published RCIL code has False
        norm_cfg=dict(type='SyncBN', requires_grad=True)),
    decode_head=dict(
        type='mmseg_spwc.DeepLabV3CSSHead',
        in_channels=2048,
        in_index=3,
        channels=256,
        dilations=(1, 6, 12, 18),
        init_gain_slope=0.01,  # the published RCIL code has 1
        norm_cfg=dict(type='SyncBN', requires_grad=True),
        align_corners=False),
    train_cfg=dict(),
    test_cfg=dict(mode='whole'))
