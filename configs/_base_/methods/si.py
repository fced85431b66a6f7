# SI: each parameter's share in lowering the loss along the path, added up
# over the steps around the newest anchor, no 1/2.
_base_ = './ewc.py'
method = dict(
    name='SI',
    every=dict(
        hooks=dict(
            consolidation=dict(
                importance=dict(
                    _delete_=True, type='mmseg_spwc.SIImportance', xi=1e-3),
                strength=1.,
                half=False,
                form='online'))))
