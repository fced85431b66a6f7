_base_ = '../../../_base_/methods/ewc_online.py'
method = dict(
    every=dict(
        model=dict(_delete_=True),  # no loss of pixels
        hooks=dict(
            consolidation=dict(
                strength=dict(
                    _delete_=True,
                    by_scenario={
                        'default': 100., 'cifar100': 800., 'tiny_imagenet': 800.
                    }),
                n_samples=4000))))
