# The paper's table of VOC 10-1 overlapped, IoU of every class.
#   python tools/sweep.py configs/sweeps/paper/voc_10_1_overlapped.py
#   python tools/sweep.py configs/sweeps/paper/voc_10_1_overlapped.py --scale small
_full = '../../{}_deeplabv3-r101-d16_voc12aug-512x512.py'.format
_small = '../../{}_deeplabv3-mobilenetv2-d16_voc12aug-128x128.py'.format
_leaves = dict(
    finetune='finetune/finetune', ewc='ewc/ewc', lwf='lwf/lwf',
    lwf_mc='lwf_mc/lwf-mc', ilt='ilt/ilt', mib='mib/mib', plop='plop/plop',
    alife='alife/alife', rcil='rcil/rcil', rcil_spwc='spwc/rcil-spwc')

# all but the first take the step 0 of the first, as in the paper
methods = {
    name: dict(config=_full(leaf), step_0='finetune')
    for name, leaf in _leaves.items()
}
methods['finetune'].pop('step_0')
scenarios = [dict(name='10-1', setting='overlapped')]
resources = dict(cpus=8, gpus=1)
# 30 epochs of every step, also where a method has its own number
cfg_options = {'method.later.train_cfg.max_epochs': 30}
paper = dict(
    title='IoU of every class on VOC 2012, 10-1 overlapped, in percent',
    needs='VOC 2012 with SBD, weights of R-101; a GPU of more than 24 GB a '
    'trial',
    scores={
        method: dict(all=all_, **{f'class_{c}': iou[c] for c in range(21)})
        for method, all_, iou in (
            ('finetune', 3.8, [68.9] + [0.] * 19 + [10.4]),
            ('ewc', 5.8, [72.9] + [0.] * 14 + [48.7] + [0.] * 5),
            ('lwf', 5.4, [79.3] + [0.] * 14 + [9.6, 0., 0., 7.9, 8.4, 7.1]),
            ('lwf_mc', 4.5, [70.0] + [0.] * 18 + [10.9, 14.7]),
            ('ilt', 5.2, [78.6] + [0.] * 14 + [5.0, 0., 0., 8.4, 7.8, 8.6]),
            ('mib', 13.0, [
                82.1, 0.0, 7.2, 0.6, 0.0, 23.3, 0.1, 13.8, 2.8, 0.1, 0.0,
                0.0, 0.0, 0.1, 12.8, 76.5, 0.0, 8.8, 13.7, 13.1, 18.5]),
            ('plop', 24.1, [
                67.5, 60.0, 0.7, 16.4, 30.2, 48.7, 2.4, 71.7, 50.1, 15.9, 0.0,
                4.2, 0.1, 3.3, 27.1, 67.7, 9.4, 11.4, 7.0, 9.5, 2.6]),
            ('alife', 6.1, [73.7] + [0.] * 14 + [
                0.5, 0.0, 2.0, 2.4, 16.3, 34.2]),
            ('rcil', 34.1, [
                61.6, 75.0, 32.2, 42.8, 44.9, 70.4, 72.0, 85.3, 56.8, 11.3,
                0.0, 16.7, 23.4, 0.0, 27.4, 65.2, 6.4, 1.9, 7.6, 11.8, 3.5]),
            ('rcil_spwc', 40.7, [
                86.0, 80.6, 39.0, 51.9, 48.2, 64.3, 48.3, 85.8, 66.0, 17.4,
                0.0, 24.5, 33.0, 0.8, 41.4, 76.5, 20.6, 8.8, 20.9, 23.4,
                16.3]))
    })
# VOC at 128 px with MobileNetV2: five epochs of step 0, then one epoch and at
# least 30 iterations a step, scored on the first 400 test images. All methods
# have the settings that keep small steps sound
# (docs/results/appendix/voc128.md), so that methods are compared and not
# recipes, and the strength that did best of three on the held-out images of
# another seed and a shorter sequence (`small_search`). `small_published` has
# the settings and strengths of each paper in place of both.
_later = 'method.later.{}'.format
_kd = _later('model.losses.kd.loss_weight')
_strength = 'method.every.hooks.consolidation.strength'
_factor = _later('model.losses.pod.factor')
_searched = dict(
    ewc=(_strength, [10., 100., 1000.]), lwf=(_kd, [10., 30., 100.]),
    lwf_mc=(_kd, [1., 10., 100.]), ilt=(_kd, [10., 30., 100.]),
    mib=(_kd, [5., 20., 100.]), plop=(_factor, [.003, .01, .03]),
    alife=(_kd, [1., 5., 20.]), rcil=(_kd, [5., 20., 100.]))
_best = dict(ewc=1000., lwf=30., lwf_mc=1., ilt=10., mib=20., plop=.01,
             alife=1., rcil=5.)
_offset = {_later('model.losses.pixel.new_offset'): 1.}
_folded = {_later('model.rc.folded'): True, **_offset}
_sound = {
    'backbone_weights': '{{$MMSEG_SPWC_DATA:data}}/weights/mobilenet_v2.pth',
    'model.channels_last': True,
    'train_dataloader.num_workers': 0,
    'train_dataloader.persistent_workers': False,
    'test_dataloader.num_workers': 0,
    'test_dataloader.dataset.indices': 400,
    'train_cfg.max_epochs': 5,
    _later('train_cfg.max_epochs'): 1,
    _later('train_cfg.min_iters'): 30,
    _later('model.frozen_norm'): '.',
    _later('hooks.transition.classifier_init'): 'zero',
    _later('optim_wrapper.optimizer.lr'): 4e-4,
    _later('optim_wrapper.paramwise_cfg.custom_keys'): {
        'conv_seg': dict(lr_mult=25.),
        'conv_seg.convs.0': dict(lr_mult=.5)},
}
_methods = dict(
    **{name: dict(config=f'../voc128/{name}.py')
       for name in ('ewc', 'lwf', 'lwf_mc', 'ilt', 'alife')},
    finetune=dict(config=_small('finetune/finetune')),
    plop=dict(config=_small('plop/plop')),
    mib=dict(config=_small('mib/mib'), cfg_options=_offset),
    rcil=dict(config=_small('rcil/rcil'), cfg_options=_folded))
_rcil = {**_folded, _kd: _best['rcil']}
scales = dict(
    small=dict(
        methods=dict(
            **{name: dict(config, cfg_options={
                **config.get('cfg_options', {}),
                **({_searched[name][0]: _best[name]} if name in _best else {})
               }) for name, config in _methods.items()},
            rcil_spwc=dict(config=_small('spwc/rcil-spwc'), cfg_options=_rcil),
            rcil_spwc_keep=dict(
                config=_small('spwc/rcil-spwc'), step_0='finetune',
                cfg_options={**_rcil, 'self_paced.background': 'keep'}),
            rcil_spwc_authors=dict(
                config=_small('rcil/rcil'), step_0='finetune',
                cfg_options={**_rcil, 'self_paced.rule': 'authors_code'})),
        resources=dict(cpus=1, gpus=0),
        paper=dict(needs='VOC at 128 px, weights of MobileNetV2; a CPU core, '
                   '3 GB, about 1 h'),
        cfg_options=_sound))
scales['small_search'] = dict(
    scales['small'],
    methods=dict(
        **{name: dict(config, grid=dict([_searched[name]])
                      if name in _searched else {})
           for name, config in _methods.items()},
        rcil_spwc=None, rcil_spwc_keep=None, rcil_spwc_authors=None),
    scenarios=[dict(name='10-1-1-1', setting='overlapped', partial=True,
                    steps=[list(range(1, 11)), [11], [12], [13]])],
    select='held-out mIoU', seeds=[100], paper=None)
scales['small_published'] = dict(
    scales['small'],
    methods=dict(
        **{name: dict(config=_methods[name]['config'])
           for name in _methods if name != 'rcil'},
        rcil=dict(config='../voc128/rcil.py'),
        rcil_spwc=dict(config='../voc128/rcil_spwc.py'),
        rcil_spwc_keep=dict(
            config='../voc128/rcil_spwc.py', step_0='finetune',
            cfg_options={'self_paced.background': 'keep'}),
        rcil_spwc_authors=dict(
            config='../voc128/rcil.py', step_0='finetune',
            cfg_options={'self_paced.rule': 'authors_code'})),
    cfg_options={
        key: value for key, value in _sound.items()
        if not key.startswith(_later('')) or 'train_cfg' in key})
