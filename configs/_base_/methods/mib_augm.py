# MiB-AugM: MiB with a balanced memory in half of every batch. The cross entropy
# knows which classes the labels of a remembered image name.
_base_ = './mib.py'
method = dict(
    name='MiB-AugM',
    later=dict(
        model=dict(losses=dict(kd=dict(loss_weight=10.))),
        train_dataloader=dict(
            dataset=dict(
                replay=dict(
                    size=dict(
                        by_scenario=dict(default=100, ade=300, shapes=50)),
                    policy='balanced',
                    mix='half')))))
