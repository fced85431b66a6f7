# The paper's table of classification on CIFAR-100, and its figures by task.
#   python tools/sweep.py configs/sweeps/paper/cifar100.py
#   python tools/sweep.py configs/sweeps/paper/cifar100.py --scale small
_leaf = '../../classification/{}_small-vgg_cifar100.py'.format
_anchors = 'method.every.hooks.consolidation.strength'
_bits = 'method.every.hooks.bits.prior'
_kd = 'method.later.model.losses.kd.loss_weight'
_ewc = {_anchors: [80., 800., 8000.]}
_mas = {_anchors: [0.3, 3., 30.]}

methods = dict(
    finetune=_leaf('finetune/finetune'),
    joint=_leaf('joint/joint'),
    ewc=dict(config=_leaf('ewc/ewc'), grid=_ewc),
    online_ewc=dict(config=_leaf('ewc/online-ewc'), grid=_ewc),
    lwf=dict(config=_leaf('lwf/lwf'), grid={_kd: [1., 3., 10.]}),
    si=dict(config=_leaf('si/si'), grid={_anchors: [40., 400., 4000.]}),
    mas=dict(config=_leaf('mas/mas'), grid=_mas),
    blip=dict(config=_leaf('blip/blip'), grid={_bits: [1e-13, 1e-11, 1e-9]}),
    ewc_spwc=dict(config=_leaf('spwc/ewc-spwc'), grid=_ewc),
    mas_spwc=dict(config=_leaf('spwc/mas-spwc'), grid=_mas))
seeds = list(range(10))
select = 'held-out accuracy'
resources = dict(cpus=1, gpus=0.25)
paper = dict(
    title='Average APA and average ACF on CIFAR-100, in percent',
    needs='CIFAR-100; any GPU, four trials to one; 280 trials',
    figures=['apa_acf'],
    scores=dict(
        finetune=dict(average_apa=(29.4, 3.3), average_acf=(37.2, 2.6)),
        joint=dict(average_apa=(63.0, 0.1), average_acf=(0.1, 0.0)),
        ewc=dict(average_apa=(51.3, 1.9), average_acf=(13.1, 2.0)),
        online_ewc=dict(average_apa=(50.5, 2.5), average_acf=(14.0, 2.6)),
        lwf=dict(average_apa=(54.4, 1.0), average_acf=(9.7, 0.5)),
        si=dict(average_apa=(52.7, 1.9), average_acf=(11.5, 1.7)),
        mas=dict(average_apa=(51.1, 1.8), average_acf=(13.3, 2.0)),
        blip=dict(average_apa=(51.3, 0.4), average_acf=(11.4, 0.4)),
        ewc_spwc=dict(average_apa=(55.3, 0.3), average_acf=(8.7, 0.2)),
        mas_spwc=dict(average_apa=(55.9, 0.3), average_acf=(8.1, 0.4))))
# a quarter of the epochs on half of the images: minutes a run on a CPU
_few = {
    'train_dataloader.dataset.per_class': 250,
    'test_dataloader.dataset.per_class': 50,
    'total_batch_size': 32,
    'train_cfg.max_epochs': 5,
}
_plus = {f'self_paced.{key}': value for key, value in dict(
    rule='spwc', mu=2.0723, relative=True, protect_last=True,
    min_weight=0.1, normalise='sum').items()}
_plus['self_paced.update.iters'] = 20
# EWC, MAS and what stands on them are searched; the others have the survey's
# strengths, those of the leaves
_given = dict(online_ewc=(_anchors, 800.), lwf=(_kd, 10.),
              si=(_anchors, 400.), blip=(_bits, 1e-11))
scales = dict(
    small=dict(
        methods=dict(
            ewc_spwc_plus=dict(
                config=_leaf('ewc/ewc'), grid=_ewc, cfg_options=_plus),
            **{method: dict(grid={key: [value]})
               for method, (key, value) in _given.items()}),
        seeds=[0], resources=dict(gpus=0), cfg_options=_few,
        paper=dict(needs='CIFAR-100; a CPU core, 2 GB, about 1 h')))
