_base_ = '../../../_base_/methods/si.py'


def factors(strength, xi):
    hook = dict(strength=strength, importance=dict(xi=xi))
    return dict(hooks=dict(consolidation=hook))


method = dict(
    every=dict(
        model=dict(_delete_=True),  # no loss of pixels
        **factors(strength=5., xi=0.1)),
    by_scenario=dict.fromkeys(
        ('cifar100', 'tiny_imagenet'),
        dict(every=factors(strength=400., xi=1e-3))))
