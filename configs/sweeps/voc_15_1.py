# Every method of segmentation on VOC at 128 px, 15-1 overlapped.
#   python tools/sweep.py configs/sweeps/voc_15_1.py
# Settings and length are those of the small scale of the paper's table of VOC
# 10-1. DKD and DFT* train a step 0 of their own, as they must.
_base_ = './paper/voc_10_1_overlapped.py'
_leaf = '../{}_deeplabv3-mobilenetv2-d16_voc12aug-128x128.py'.format
_more = 'voc128/{}.py'.format
_later = 'method.later.{}'.format
_offset = {_later('model.losses.pixel.new_offset'): 1.}
_dkd = {_later('hooks.transition.classifier_init'): 'extra',
        'method.every.train_cfg.max_epochs': 5}
_folded = {_later('model.rc.folded'): True}
methods = dict(
    _delete_=True,
    finetune=_leaf('finetune/finetune'),
    joint=_leaf('joint/joint-offline'),
    dft=dict(
        config=_leaf('dft/dft'), cfg_options={
            _later('hooks.transition.classifier_init'): 'default'}),
    ewc=_more('ewc'),
    ewc_mib=dict(config=_more('ewc_mib'), step_0='finetune'),
    lwf=_more('lwf'),
    lwf_mc=dict(config=_more('lwf_mc'), step_0='finetune'),
    ilt=_more('ilt'),
    mib=dict(config=_leaf('mib/mib'), cfg_options=_offset),
    mib_ewf=dict(config=_more('mib_ewf'), cfg_options=_offset),
    mib_lgkd=dict(config=_more('mib_lgkd'), cfg_options=_offset),
    mib_nest=dict(config=_more('mib_nest'), cfg_options=_offset),
    ucd=dict(config=_more('ucd'), cfg_options=_offset),
    plop=_leaf('plop/plop'),
    plop_ewf=_more('plop_ewf'),
    lgkd=_more('lgkd'),
    reminder=_more('reminder'),
    alife=_more('alife'),
    dkd=dict(config=_more('dkd'), cfg_options=_dkd),
    rcil=dict(config=_leaf('rcil/rcil'), step_0='finetune',
              cfg_options=_folded),
    rcil_ewf=dict(config=_more('rcil_ewf'), step_0='finetune',
                  cfg_options=_folded),
    rcil_spwc=dict(config=_leaf('spwc/rcil-spwc'), step_0='finetune',
                   cfg_options=_folded),
    # with a memory of 100 images
    finetune_memory=_leaf('finetune/finetune-memory'),
    mib_augm=dict(config=_leaf('mib/mib-augm'), cfg_options=_offset),
    mib_augm_spwc=dict(config=_leaf('spwc/mib-augm-spwc'),
                       cfg_options=_offset),
    dkd_m=dict(config=_more('dkd_m'), cfg_options=_dkd))
scenarios = [dict(name='15-1', setting='overlapped')]
resources = dict(cpus=1, gpus=0)
cfg_options = {{_base_.scales.small.cfg_options}}
paper = None
scales = None
