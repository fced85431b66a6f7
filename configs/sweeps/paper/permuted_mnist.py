# The paper's table of classification on Permuted-MNIST, and its figures of PS by task.
#   python tools/sweep.py configs/sweeps/paper/permuted_mnist.py
#   python tools/sweep.py configs/sweeps/paper/permuted_mnist.py --scale small
_leaf = '../../classification/{}_mlp_permuted-mnist.py'.format
_anchors = 'method.every.hooks.consolidation.strength'
_bits = 'method.every.hooks.bits.prior'
_kd = 'method.later.model.losses.kd.loss_weight'
_ewc = {_anchors: [30., 100., 300.]}
_mas = {_anchors: [0.005, 0.05, 0.5]}

methods = dict(
    finetune=_leaf('finetune/finetune'),
    joint=_leaf('joint/joint'),
    ewc=dict(config=_leaf('ewc/ewc'), grid=_ewc),
    online_ewc=dict(config=_leaf('ewc/online-ewc'), grid=_ewc),
    lwf=dict(config=_leaf('lwf/lwf'), grid={_kd: [0.1, 1., 10.]}),
    si=dict(config=_leaf('si/si'), grid={_anchors: [0.5, 5., 50.]}),
    mas=dict(config=_leaf('mas/mas'), grid=_mas),
    blip=dict(config=_leaf('blip/blip'), grid={_bits: [1e-13, 1e-11, 1e-9]}),
    ewc_spwc=dict(config=_leaf('spwc/ewc-spwc'), grid=_ewc),
    mas_spwc=dict(config=_leaf('spwc/mas-spwc'), grid=_mas))
seeds = list(range(10))
select = 'held-out accuracy'
resources = dict(cpus=1, gpus=0.25)
paper = dict(
    title='Average APA and average ACF on Permuted-MNIST, in percent',
    needs='MNIST; any GPU, four trials to one, or a CPU; 280 trials',
    figures=['apa_acf'],
    scores=dict(
        finetune=dict(average_apa=(85.4, 1.1), average_acf=(12.3, 1.0)),
        joint=dict(average_apa=(96.2, 0.0), average_acf=(0.3, 0.0)),
        ewc=dict(average_apa=(93.0, 0.1), average_acf=(3.9, 0.2)),
        online_ewc=dict(average_apa=(93.5, 0.3), average_acf=(3.3, 0.3)),
        lwf=dict(average_apa=(93.9, 0.1), average_acf=(2.9, 0.1)),
        si=dict(average_apa=(93.6, 0.3), average_acf=(3.2, 0.2)),
        mas=dict(average_apa=(91.1, 0.2), average_acf=(6.0, 0.2)),
        blip=dict(average_apa=(93.8, 0.1), average_acf=(3.0, 0.1)),
        ewc_spwc=dict(average_apa=(95.1, 0.1), average_acf=(1.6, 0.1)),
        mas_spwc=dict(average_apa=(94.8, 0.1), average_acf=(1.9, 0.1))))
# a fifth of the images and a smaller network: a minute a run on a CPU
scales = dict(
    small=dict(
        seeds=[0, 1, 2],
        resources=dict(gpus=0),
        paper=dict(needs='MNIST; a CPU core, 2 GB, about 2 h'),
        cfg_options={
            'train_dataloader.dataset.limit': 10000,
            'test_dataloader.dataset.limit': 1500,
            'model.backbone.hidden': (200, 200),
            'model.head.in_channels': 200,
        }))
