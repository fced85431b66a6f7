# The paper's table of the number of old classes that spWC keeps, VOC 10-1.
#   python tools/sweep.py configs/sweeps/paper/k.py
#   python tools/sweep.py configs/sweeps/paper/k.py --scale small
_base_ = './voc_10_1_overlapped.py'
_spwc = '../../spwc/rcil-spwc_deeplabv3-{}.py'.format
_others = ('ewc', 'lwf', 'lwf_mc', 'ilt', 'mib', 'plop', 'alife', 'rcil',
           'rcil_spwc')
methods = dict(
    **dict.fromkeys(_others),
    **{
        f'k_{k}': dict(
            config=_spwc('r101-d16_voc12aug-512x512'), step_0='finetune',
            cfg_options={'self_paced.k': k})
        for k in (5, 10, 15, 20)
    })
paper = dict(
    _delete_=True,
    title='mIoU on VOC 2012, 10-1 overlapped, by the number of classes kept',
    needs='VOC 2012 with SBD, weights of R-101; a GPU of more than 24 GB a '
    'trial',
    figures=['k_ablation'],
    scores=dict(
        k_5=dict(base=43.5, new=20.2, all=32.4),
        k_10=dict(base=50.1, new=22.9, all=37.1),
        k_15=dict(base=53.4, new=26.6, all=40.7),
        k_20=dict(base=53.4, new=26.3, all=40.5)))
scales = dict(
    small=dict(methods=dict(
        **dict.fromkeys((*_others, 'rcil_spwc_keep', 'rcil_spwc_authors')),
        **{
            f'k_{k}': dict(
                config=_spwc('mobilenetv2-d16_voc12aug-128x128'),
                cfg_options={{_base_.scales.small.methods.rcil_spwc.cfg_options}})
            for k in (5, 10, 15, 20)
        })),
    small_search=None, small_published=None)
