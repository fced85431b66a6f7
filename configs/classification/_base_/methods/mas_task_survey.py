_base_ = './mas_task.py'
method = dict(every=dict(hooks=dict(consolidation=dict(strength=3.))))
