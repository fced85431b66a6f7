# Trains once, on the data of all tasks, and is scored as the last step.
_base_ = './joint.py'
method = dict(name='Joint (once)', run='last')
