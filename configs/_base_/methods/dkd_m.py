# DKD-M: DKD with a memory, on which the step's own classes alone are labelled,
# so that old ones are learnt from the old model.
_base_ = './dkd.py'
method = dict(
    name='DKD-M',
    later=dict(
        train_dataloader=dict(
            dataset=dict(
                replay=dict(
                    size=dict(
                        by_scenario=dict(default=100, ade=300, shapes=50)),
                    policy='round_robin',
                    labels='current',
                    mix='append')))))
