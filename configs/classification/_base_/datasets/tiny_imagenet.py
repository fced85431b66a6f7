# Tiny ImageNet: 400 / 100 / 50 images per class. The official validation set
# tests, since the labels of the official test set are not public.
# Ten tasks of twenty random classes, a head each; the task is known at test.
scenario = dict(
    problem='classification',
    dataset='tiny_imagenet',
    name='10x20',
    kind='task')
data_root = '{{$MMSEG_SPWC_DATA:data}}/tiny-imagenet-200'
total_batch_size = 200
train_dataloader = dict(
    num_workers=0,
    dataset=dict(type='mmseg_spwc.TinyImageNet', split='train'))
test_dataloader = dict(
    batch_size=500,
    num_workers=0,
    dataset=dict(type='mmseg_spwc.TinyImageNet', split='test'))
