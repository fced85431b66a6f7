_base_ = '../../../_base_/consolidation/mas.py'
method = dict(
    every=dict(
        hooks=dict(consolidation=dict(strength=0.05, n_samples=4000))))
