# EWC as MiB's and PLOP's tables have it: a running mean of squared batch
# gradients, scaled to [0, 1] per tensor, no 1/2, the newest anchor alone.
# PLOP's strength is 100. Its authors take update='gradient', which at this
# strength diverges above lr 0.00136 (Nesterov, momentum 0.9).
_base_ = './ewc.py'
method = dict(
    name='EWC (MiB)',
    every=dict(
        hooks=dict(
            consolidation=dict(
                importance=dict(
                    _delete_=True,
                    type='mmseg_spwc.EMAImportance',
                    alpha=0.9),
                strength=500.,
                half=False,
                form='last'))))
