_base_ = '../../../_base_/methods/ewc_online.py'
method = dict(
    every=dict(
        model=dict(_delete_=True),  # no loss of pixels
        hooks=dict(consolidation=dict(n_samples=4000))),
    by_scenario=dict.fromkeys(
        ('cifar100', 'tiny_imagenet'),
        dict(every=dict(hooks=dict(consolidation=dict(strength=800.))))))
