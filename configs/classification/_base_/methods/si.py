_base_ = '../../../_base_/methods/si.py'
method = dict(
    every=dict(
        model=dict(_delete_=True),  # no loss of pixels
        hooks=dict(
            consolidation=dict(
                strength=dict(
                    _delete_=True,
                    by_scenario={
                        'default': 5., 'cifar100': 400., 'tiny_imagenet': 400.
                    }),
                importance=dict(
                    xi=dict(
                        _delete_=True,
                        by_scenario={
                            'default': 0.1,
                            'cifar100': 1e-3,
                            'tiny_imagenet': 1e-3
                        }))))))
