# MAS with its own anchor for every task, as MAS+spWC needs it; no 1/2.
_base_ = './ewc.py'
method = dict(
    name='MAS',
    every=dict(
        hooks=dict(
            consolidation=dict(
                importance=dict(_delete_=True, type='mas'),
                strength=0.05,
                half=False))))
