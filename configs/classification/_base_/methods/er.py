# Experience replay: half of every batch is drawn from a memory in which every
# earlier sample is as likely.
method = dict(
    name='ER',
    every=dict(model=dict(freeze_old_heads=False)),
    later=dict(
        train_dataloader=dict(
            dataset=dict(
                replay=dict(
                    size=dict(
                        by_scenario=dict(
                            default=200, cifar100=2000, tiny_imagenet=2000)),
                    policy='reservoir',
                    mix='half')))))
