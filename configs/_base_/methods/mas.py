# MAS: sensitivity of the logits' squared norm, added up over the steps around
# the newest anchor, no 1/2. For MAS+spWC set form='per_step'.
_base_ = './ewc.py'
method = dict(
    name='MAS',
    every=dict(
        hooks=dict(
            consolidation=dict(
                importance=dict(
                    _delete_=True, type='mmseg_spwc.MASImportance'),
                strength=1.,
                half=False,
                form='online'))))
