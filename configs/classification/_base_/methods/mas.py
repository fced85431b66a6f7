# MAS: sensitivity of the logits' squared norm, added up over the tasks around
# the newest anchor, no 1/2.
_base_ = './mas_task.py'
method = dict(every=dict(hooks=dict(consolidation=dict(form='online'))))
