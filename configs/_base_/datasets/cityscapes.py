_base_ = './css_pipelines.py'
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
