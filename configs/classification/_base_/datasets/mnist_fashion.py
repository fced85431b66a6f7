# MNIST and Fashion-MNIST, both in MNIST's IDX format, zero-padded to 32x32,
# in turn: an easy task, a harder one, and so on, ten in all, each with its own
# permutation of the pixels; one shared head. 12 500 training images of each
# are used: 10 000 to train and 2 500 to validate.
scenario = dict(
    problem='classification', dataset='permuted_mnist_fashion', name='10')
data_root = '{{$MMSEG_SPWC_DATA:data}}'
total_batch_size = 128
train_dataloader = dict(
    num_workers=0,
    dataset=dict(
        type='ConcatDataset',
        datasets=[
            dict(type='mmseg_spwc.IdxImages', split='train', folder=folder,
                 limit=12500) for folder in ('mnist', 'fashion-mnist')
        ]))
test_dataloader = dict(
    batch_size=1000,
    num_workers=0,
    dataset=dict(
        type='ConcatDataset',
        datasets=[
            dict(type='mmseg_spwc.IdxImages', split='test', folder=folder)
            for folder in ('mnist', 'fashion-mnist')
        ]))
