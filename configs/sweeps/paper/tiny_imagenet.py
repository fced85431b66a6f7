# The paper's table of classification on Tiny ImageNet, and its priorities by task.
#   python tools/sweep.py configs/sweeps/paper/tiny_imagenet.py
#   python tools/sweep.py configs/sweeps/paper/tiny_imagenet.py --scale small
_leaf = '../../classification/{}_small-vgg_tiny-imagenet.py'.format
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
    title='Average APA and average ACF on Tiny ImageNet, in percent',
    needs='Tiny ImageNet; any GPU, four trials to one; 280 trials',
    figures=['apa_acf'],
    scores=dict(
        finetune=dict(average_apa=(29.6, 2.5), average_acf=(24.3, 2.1)),
        joint=dict(average_apa=(50.3, 0.3), average_acf=(1.2, 0.1)),
        ewc=dict(average_apa=(42.9, 2.2), average_acf=(9.4, 2.0)),
        online_ewc=dict(average_apa=(42.3, 2.3), average_acf=(10.1, 2.8)),
        lwf=dict(average_apa=(43.8, 0.9), average_acf=(8.4, 1.1)),
        si=dict(average_apa=(42.2, 2.0), average_acf=(10.3, 1.7)),
        mas=dict(average_apa=(40.3, 1.5), average_acf=(12.3, 1.6)),
        blip=dict(average_apa=(43.5, 0.5), average_acf=(8.7, 0.5)),
        ewc_spwc=dict(average_apa=(46.1, 0.3), average_acf=(5.9, 0.4)),
        mas_spwc=dict(average_apa=(45.7, 0.2), average_acf=(6.4, 0.3))))
# a quarter of the epochs on a fifth of the images
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
