# The paper's ablation of the self-paced regulariser, on Tiny ImageNet.
#   python tools/sweep.py configs/sweeps/paper/regularisers.py
#   python tools/sweep.py configs/sweeps/paper/regularisers.py --scale small
_leaf = '../../classification/spwc/{}-spwc_small-vgg_tiny-imagenet.py'.format
_anchors = 'method.every.hooks.consolidation.strength'
_grids = dict(ewc={_anchors: [80., 800., 8000.]},
              mas={_anchors: [0.3, 3., 30.]})

# each rule with the strength that suits it, since all but `hard` weaken it
methods = {
    f'{base}_{rule}': dict(
        config=_leaf(base), grid=grid, cfg_options={'self_paced.rule': rule})
    for base, grid in _grids.items()
    for rule in ('spwc', 'hard', 'linear', 'log')
}
seeds = list(range(10))
select = 'held-out accuracy'
resources = dict(cpus=1, gpus=0.25)
paper = dict(
    title='APA by task on Tiny ImageNet for four self-paced regularisers',
    needs='Tiny ImageNet; any GPU, four trials to one; 240 trials',
    figures=['apa_acf', 'regulariser_ablation'],
    says='The rule of spWC is 0.8 points of APA above the logarithmic one '
    'with EWC and 1.0 with MAS; the hard rule is the worst.')
scales = dict(
    small=dict(
        seeds=[0],
        resources=dict(gpus=0),
        paper=dict(needs='a fifth of Tiny ImageNet; a CPU core, 2 GB'),
        cfg_options={
            'train_dataloader.dataset.per_class': 100,
            'test_dataloader.dataset.per_class': 20,
            'total_batch_size': 50,
            'train_cfg.max_epochs': 5,
        }))
