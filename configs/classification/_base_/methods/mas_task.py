# MAS with its own anchor for every task, as MAS+spWC needs it.
_base_ = './mas.py'
method = dict(every=dict(hooks=dict(consolidation=dict(form='task'))))
