# Ten epochs a task with a smaller learning rate.
_base_ = './mlp_2e.py'
optim_wrapper = dict(optimizer=dict(lr=0.01))
train_cfg = dict(max_epochs=10)
