# Finetune, with half of every batch from a memory: what any method that
# replays images has to beat.
_base_ = './finetune.py'
method = dict(
    name='Finetune + memory',
    later=dict(
        train_dataloader=dict(
            dataset=dict(
                replay=dict(
                    size=dict(
                        by_scenario=dict(default=100, ade=300, shapes=50)),
                    policy='round_robin',
                    mix='half')))))
