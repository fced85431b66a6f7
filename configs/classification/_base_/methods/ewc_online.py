_base_ = '../../../_base_/consolidation/ewc_online.py'
method = dict(
    every=dict(
        hooks=dict(consolidation=dict(strength=100., n_samples=4000))))
