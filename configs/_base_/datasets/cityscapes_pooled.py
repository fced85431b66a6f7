# The cities of train and val in one pool, as the domain scenarios want them.
# Which images test is decided by the scenario, city by city, once.
_base_ = './css_pipelines.py'
data_root = '{{$MMSEG_SPWC_DATA:data}}/cityscapes'
train_cities = dict(
    type='CityscapesDataset',
    data_prefix=dict(
        img_path='leftImg8bit/train', seg_map_path='gtFine/train'))
val_cities = dict(
    type='CityscapesDataset',
    data_prefix=dict(img_path='leftImg8bit/val', seg_map_path='gtFine/val'))
train_dataloader = dict(
    dataset=dict(
        type='ConcatDataset',
        datasets=[
            dict(pipeline=_base_.train_pipeline, **train_cities),
            dict(pipeline=_base_.train_pipeline, **val_cities),
        ]))
test_dataloader = dict(
    dataset=dict(
        type='ConcatDataset',
        datasets=[
            dict(pipeline=_base_.test_pipeline, **train_cities),
            dict(pipeline=_base_.test_pipeline, **val_cities),
        ]))
