# Swin-T with UPerNet of MMSegmentation, with its weights.
_base_ = 'mmseg::_base_/models/upernet_swin.py'
checkpoint = ('https://download.openmmlab.com/mmsegmentation/v0.5/pretrain/'
              'swin/swin_tiny_patch4_window7_224_20220317-1cdeb081.pth')
model = dict(
    backbone=dict(init_cfg=dict(type='Pretrained', checkpoint=checkpoint)))
