# SegFormer-B2 of MMSegmentation, with its weights.
_base_ = 'mmseg::_base_/models/segformer_mit-b0.py'
checkpoint = ('https://download.openmmlab.com/mmsegmentation/v0.5/pretrain/'
              'segformer/mit_b2_20220624-66e8bf70.pth')
model = dict(
    backbone=dict(
        init_cfg=dict(type='Pretrained', checkpoint=checkpoint),
        embed_dims=64,
        num_layers=[3, 4, 6, 3]),
    decode_head=dict(in_channels=[64, 128, 320, 512]))
