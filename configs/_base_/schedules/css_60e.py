_base_ = './css_30e.py'
train_cfg = dict(max_epochs=60)
