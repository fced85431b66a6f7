# Online EWC: importances added up around the newest anchor. With decay below
# 1, the form with the decay inside the penalty too has strength * decay.
_base_ = './ewc.py'
method = dict(
    name='online-EWC',
    every=dict(
        hooks=dict(
            consolidation=dict(
                form=dict(_delete_=True, type='online', decay=1.)))))
