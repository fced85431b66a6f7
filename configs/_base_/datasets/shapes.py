# Generated on first use (mmseg_spwc/datasets/shapes.py); a sequence takes
# minutes on two CPU cores.
_base_ = './css_protocol.py'
scenario = dict(dataset='shapes', name='6-1', setting='overlapped')
data_root = '{{$MMSEG_SPWC_DATA:data}}/shapes'
crop_size = 64
shapes = dict(num_train=1000, num_val=150, size=64, seed=0)
train_dataloader = dict(
    num_workers=2,
    dataset=dict(
        type='mmseg_spwc.ShapesDataset',
        generate=shapes,
        ann_file='ImageSets/Segmentation/train.txt',
        pipeline=_base_.train_pipeline))
test_dataloader = dict(
    num_workers=2,
    batch_size=16,
    dataset=dict(
        type='mmseg_spwc.ShapesDataset',
        generate=shapes,
        ann_file='ImageSets/Segmentation/val.txt',
        pipeline=_base_.test_pipeline))

total_batch_size = 16
train_cfg = dict(max_epochs=10)
optim_wrapper = dict(optimizer=dict(lr=0.05))
schedule = dict(
    later=dict(
        train_cfg=dict(max_epochs=6),
        optim_wrapper=dict(optimizer=dict(lr=0.03))))
