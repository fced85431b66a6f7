# SSUL-M: SSUL with a memory in half of every batch, on whose images all
# classes so far are labelled.
_base_ = './ssul.py'
method = dict(
    name='SSUL-M',
    later=dict(
        train_dataloader=dict(
            dataset=dict(
                replay=dict(
                    size=dict(
                        by_scenario=dict(default=100, ade=300, shapes=50)),
                    labels='seen',
                    mix='half')))))
