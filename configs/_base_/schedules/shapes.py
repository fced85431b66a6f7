# Minutes on two CPU cores.
total_batch_size = 16
train_cfg = dict(type='EpochBasedTrainLoop', max_epochs=10)
optim_wrapper = dict(
    type='OptimWrapper',
    optimizer=dict(
        type='SGD', lr=0.05, momentum=0.9, nesterov=True, weight_decay=1e-4))
param_scheduler = dict(
    type='PolyLR', power=0.9, by_epoch=True, convert_to_iter_based=True)
schedule = dict(
    later=dict(
        train_cfg=dict(max_epochs=6),
        optim_wrapper=dict(optimizer=dict(lr=0.03))))
