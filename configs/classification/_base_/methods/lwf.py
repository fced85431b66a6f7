# Learning without Forgetting: distils every old head on the new images, T=2.
# One head for all tasks is distilled once for every old one.
method = dict(
    name='LwF',
    every=dict(model=dict(freeze_old_heads=False)),
    later=dict(
        model=dict(
            losses=dict(
                kd=dict(
                    type='mmseg_spwc.HeadDistillationLoss',
                    temperature=2.,
                    loss_weight=dict(by_scenario={
                        'default': 1., 'cifar100': 10., 'tiny_imagenet': 10.}),
                    scale_by_tasks=dict(
                        by_scenario=dict(
                            permuted_digits=True,
                            permuted_mnist=True,
                            permuted_mnist_fashion=True)))))))
