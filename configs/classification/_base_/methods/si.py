# SI: each parameter's share in lowering the loss along the path, added up
# over the tasks around the newest anchor, no 1/2. xi is 0.1 for the MLP.
_base_ = './ewc.py'
method = dict(
    name='SI',
    every=dict(
        hooks=dict(
            consolidation=dict(
                importance=dict(_delete_=True, type='si', xi=0.1),
                strength=5.,
                half=False,
                form='online'))))
