# MNIST's four IDX files, zero-padded to 32x32. As in the paper 50 000 of the
# training images are used: 40 000 to train and 10 000 to validate.
# Ten tasks, each with its own permutation of the pixels; one shared head.
scenario = dict(
    problem='classification', dataset='permuted_mnist', name='10')
data_root = '{{$MMSEG_SPWC_DATA:data}}/mnist'
total_batch_size = 128
train_dataloader = dict(
    num_workers=0,
    dataset=dict(
        type='mmseg_spwc.IdxImages', split='train', pad=2, limit=50000))
test_dataloader = dict(
    batch_size=1000,
    num_workers=0,
    dataset=dict(type='mmseg_spwc.IdxImages', split='test', pad=2))
