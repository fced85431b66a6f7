# PLOP for new domains, where every pixel has its label: no pseudo labels, and
# no new classes to initialise. The factors are those of Cityscapes 11-1.
_base_ = './plop.py'
method = dict(
    later=dict(
        model=dict(
            pseudo_label=None,
            losses=dict(pod=dict(factor=1e-4, last_factor=1e-4))),
        hooks=dict(
            transition=dict(classifier_init='default'), pseudo_label=None)))
