_base_ = './si.py'
method = dict(
    every=dict(
        hooks=dict(
            consolidation=dict(strength=400., importance=dict(xi=1e-3)))))
