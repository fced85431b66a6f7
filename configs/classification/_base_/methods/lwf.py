# Learning without Forgetting: distils every old head on the new images, T=2.
# One head for all tasks is distilled once for every old one.


def kd(**options):
    return dict(model=dict(losses=dict(kd=options)))


method = dict(
    name='LwF',
    every=dict(model=dict(freeze_old_heads=False)),
    later=kd(
        type='mmseg_spwc.HeadDistillationLoss',
        temperature=2.,
        loss_weight=1.),
    by_scenario={
        'permuted_digits': dict(later=kd(scale_by_tasks=True)),
        'permuted_mnist': dict(later=kd(scale_by_tasks=True)),
        'permuted_mnist_fashion': dict(later=kd(scale_by_tasks=True)),
        'cifar100': dict(later=kd(loss_weight=10.)),
        'tiny_imagenet': dict(later=kd(loss_weight=10.)),
    })
