# CIFAR-100's python files: 400 / 100 / 100 images per class.
# Ten tasks of ten random classes, a head each; the task is known at test.
scenario = dict(
    problem='classification',
    dataset='cifar100',
    name='10x10',
    kind='task')
data_root = '{{$MMSEG_SPWC_DATA:data}}/cifar100'
total_batch_size = 200
train_dataloader = dict(
    num_workers=0,
    dataset=dict(type='mmseg_spwc.CifarImages', split='train'))
test_dataloader = dict(
    batch_size=1000,
    num_workers=0,
    dataset=dict(type='mmseg_spwc.CifarImages', split='test'))
