_base_ = './ewc_online.py'
method = dict(
    every=dict(hooks=dict(consolidation=dict(strength=800.))))
