# With one head for all tasks, its distillation counts once for every old one.
_base_ = './lwf.py'
method = dict(
    later=dict(model=dict(losses=dict(kd=dict(scale_by_tasks=True)))))
