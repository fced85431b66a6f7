# PASCAL VOC 2012 with the SBD masks.
_base_ = './css_protocol.py'
scenario = dict(dataset='voc', name='15-1', setting='overlapped')
data_root = '{{$MMSEG_SPWC_DATA:data}}/VOCdevkit/VOC2012'
lists = 'ImageSets/Segmentation'
voc_masks = dict(img_path='JPEGImages', seg_map_path='SegmentationClass')
sbd_masks = dict(img_path='JPEGImages', seg_map_path='SegmentationClassAug')
train_dataloader = dict(
    dataset=dict(
        type='ConcatDataset',
        datasets=[
            dict(
                type='PascalVOCDataset',
                ann_file=f'{lists}/train.txt',
                data_prefix=voc_masks,
                pipeline=_base_.train_pipeline),
            dict(
                type='PascalVOCDataset',
                ann_file=f'{lists}/aug.txt',
                data_prefix=sbd_masks,
                pipeline=_base_.train_pipeline),
        ]))
test_dataloader = dict(
    dataset=dict(
        type='PascalVOCDataset',
        ann_file=f'{lists}/val.txt',
        data_prefix=voc_masks,
        pipeline=_base_.test_pipeline))
