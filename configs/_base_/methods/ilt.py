# ILT: LwF, and the backbone's last map is kept close to the old one.
_base_ = './lwf.py'
method = dict(
    name='ILT',
    later=dict(
        model=dict(
            losses=dict(
                feature=dict(
                    type='mmseg_spwc.FeatureMSELoss', loss_weight=100.)))))
