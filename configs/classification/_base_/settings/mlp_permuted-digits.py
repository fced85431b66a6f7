# Nothing to download, and seconds per task.
_base_ = [
    '../models/mlp.py',
    '../datasets/digits.py',
    '../schedules/mlp_10e.py',
    '../default_runtime.py',
]
# an epoch takes less time than a checkpoint
default_hooks = dict(checkpoint=dict(interval=10))
