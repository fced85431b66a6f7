_base_ = './mas.py'
method = dict(every=dict(hooks=dict(consolidation=dict(strength=3.))))
