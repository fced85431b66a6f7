_base_ = '../../../_base_/consolidation/si.py'
method = dict(
    every=dict(
        hooks=dict(
            consolidation=dict(strength=5., importance=dict(xi=0.1)))))
