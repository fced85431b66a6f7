_base_ = '../../../_base_/methods/mas.py'
method = dict(
    every=dict(
        model=dict(_delete_=True),  # no loss of pixels
        hooks=dict(
            consolidation=dict(
                strength=dict(
                    _delete_=True,
                    by_scenario={
                        'default': 0.05, 'cifar100': 3., 'tiny_imagenet': 3.
                    }),
                n_samples=4000))))
