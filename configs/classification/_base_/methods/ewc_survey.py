# The survey's 400 penalises without the 1/2, so it is 800 here.
_base_ = './ewc.py'
method = dict(
    every=dict(hooks=dict(consolidation=dict(strength=800.))))
