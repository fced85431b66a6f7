# The handwritten digits that come with scikit-learn, enlarged to 32x32.
# Ten tasks, each with its own permutation of the pixels; one shared head.
scenario = dict(
    problem='classification', dataset='permuted_digits', name='10')
total_batch_size = 32
train_dataloader = dict(
    num_workers=0,
    dataset=dict(type='mmseg_spwc.DigitImages', split='train'))
test_dataloader = dict(
    batch_size=1000,
    num_workers=0,
    dataset=dict(type='mmseg_spwc.DigitImages', split='test'))
