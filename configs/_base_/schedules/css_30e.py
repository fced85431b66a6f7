# Batch 24, 30 epochs a step, lr 0.01 and then 0.001, poly 0.9 by iteration.
total_batch_size = 24
train_cfg = dict(type='EpochBasedTrainLoop', max_epochs=30)
optim_wrapper = dict(
    type='OptimWrapper',
    optimizer=dict(
        type='SGD', lr=0.01, momentum=0.9, nesterov=True, weight_decay=1e-4))
param_scheduler = dict(
    type='PolyLR', power=0.9, by_epoch=True, convert_to_iter_based=True)
schedule = dict(later=dict(optim_wrapper=dict(optimizer=dict(lr=0.001))))
