# Online EWC: importances added up around the newest anchor.
_base_ = './ewc.py'
method = dict(
    name='online-EWC',
    every=dict(
        hooks=dict(consolidation=dict(form='online', decay=1.))))
