# Cityscapes, city by city, 50 epochs a step. The cities of train and val are
# one pool; the scenario decides which images test, for each city once.
_base_ = './css_protocol.py'
scenario = dict(dataset='cityscapes_domain', name='11-5')
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
train_cfg = dict(max_epochs=50)
