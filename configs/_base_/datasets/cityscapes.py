# Cityscapes, class by class, 50 epochs a step.
_base_ = './css_protocol.py'
scenario = dict(dataset='cityscapes', name='14-5', setting='overlapped')
data_root = '{{$MMSEG_SPWC_DATA:data}}/cityscapes'
train_dataloader = dict(
    dataset=dict(
        type='CityscapesDataset',
        data_prefix=dict(
            img_path='leftImg8bit/train', seg_map_path='gtFine/train'),
        pipeline=_base_.train_pipeline))
test_dataloader = dict(
    dataset=dict(
        type='CityscapesDataset',
        data_prefix=dict(
            img_path='leftImg8bit/val', seg_map_path='gtFine/val'),
        pipeline=_base_.test_pipeline))
train_cfg = dict(max_epochs=50)
