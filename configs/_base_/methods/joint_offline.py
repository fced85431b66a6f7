# Trains once, on the data of all steps, and is scored as the last step.
_base_ = './joint.py'
method = dict(name='Joint (offline)', run='last')
