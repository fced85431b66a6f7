# The paper's figure of convergence: the objective over the epochs of each task.
#   python tools/sweep.py configs/sweeps/paper/convergence.py
#   python tools/sweep.py configs/sweeps/paper/convergence.py --scale small
_leaf = '../../classification/spwc/{}-spwc_{}.py'.format
methods = {
    f'{base}_{data}': dict(config=_leaf(base, leaf))
    for base in ('ewc', 'mas')
    for data, leaf in (
        ('permuted_mnist', 'mlp_permuted-mnist'),
        ('cifar100', 'small-vgg_cifar100'),
        ('tiny_imagenet', 'small-vgg_tiny-imagenet'))
}
resources = dict(cpus=1, gpus=0.25)
paper = dict(
    title='The objective over the epochs of each task',
    needs='MNIST, CIFAR-100 and Tiny ImageNet; any GPU; 6 trials',
    figures=['convergence'],
    says='The objective of every task falls to a fixed value within about 20 '
    'epochs, which is higher for harder tasks.')
_mnist = {'train_dataloader.dataset.limit': 10000,
          'test_dataloader.dataset.limit': 1500}
_images = {'train_dataloader.dataset.per_class': 100,
           'test_dataloader.dataset.per_class': 20}
scales = dict(
    small=dict(
        methods={
            name: dict(cfg_options=_mnist if 'mnist' in name else _images)
            for name in methods
        },
        paper=dict(needs='the same, 100 images a class; a CPU core, 2 GB'),
        resources=dict(gpus=0)))
