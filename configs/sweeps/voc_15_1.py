# Every method of segmentation on VOC at 128 px, 15-1 overlapped.
#   python tools/sweep.py configs/sweeps/voc_15_1.py
# Settings, length and searched strengths are those of the small scale of the
# paper's table of VOC 10-1; what builds on a method has its strength. DKD,
# SSUL, LwF-MC, SI, EWC (MiB) and DFT* train a step 0 of their own.
_base_ = './paper/voc_10_1_overlapped.py'
_leaf = '../{}_deeplabv3-mobilenetv2-d16_voc12aug-128x128.py'.format
_more = 'voc128/{}.py'.format
_later = 'method.later.{}'.format
# at step 0 they have their own rates, of which SSUL's is as fast as the others'
_extra = {_later('hooks.transition.classifier_init'): 'extra',
          'method.every.train_cfg.max_epochs': 5}
# the longest key that fits a parameter is taken, and DKD has `decode_head`
_dkd = {
    **_extra,
    _later('optim_wrapper.paramwise_cfg.custom_keys'): {
        'decode_head': dict(lr_mult=1.),
        'decode_head.conv_seg': dict(lr_mult=25.),
        'decode_head.conv_seg.convs.0': dict(lr_mult=.5)}}
_ewc = {{_base_.scales.small.methods.ewc.cfg_options}}
_lwf = {{_base_.scales.small.methods.lwf.cfg_options}}
_lwf_mc = {{_base_.scales.small.methods.lwf_mc.cfg_options}}
_ilt = {{_base_.scales.small.methods.ilt.cfg_options}}
_mib = {{_base_.scales.small.methods.mib.cfg_options}}
_plop = {{_base_.scales.small.methods.plop.cfg_options}}
_alife = {{_base_.scales.small.methods.alife.cfg_options}}
_rcil = {{_base_.scales.small.methods.rcil.cfg_options}}
_rcil_spwc = {{_base_.scales.small.methods.rcil_spwc.cfg_options}}
methods = dict(
    _delete_=True,
    finetune=_leaf('finetune/finetune'),
    joint=_leaf('joint/joint-offline'),
    dft=dict(
        config=_leaf('dft/dft'), cfg_options={
            _later('hooks.transition.classifier_init'): 'default'}),
    ewc=dict(config=_more('ewc'), cfg_options=_ewc),
    online_ewc=dict(config=_more('ewc_online'), cfg_options=_ewc),
    ewc_mib=_more('ewc_mib'),
    mas=_more('mas'),
    si=_more('si'),
    lwf=dict(config=_more('lwf'), cfg_options=_lwf),
    lwf_mc=dict(config=_more('lwf_mc'), cfg_options=_lwf_mc),
    ilt=dict(config=_more('ilt'), cfg_options=_ilt),
    mib=dict(config=_leaf('mib/mib'), cfg_options=_mib),
    mib_ewf=dict(config=_more('mib_ewf'), cfg_options=_mib),
    mib_ewf_fisher=dict(config=_more('mib_ewf_fisher'), cfg_options=_mib),
    mib_ewf_spwc=dict(config=_more('mib_ewf_spwc'), cfg_options=_mib),
    mib_lgkd=dict(config=_more('mib_lgkd'), cfg_options=_mib),
    mib_nest=dict(config=_more('mib_nest'), cfg_options=_mib),
    ucd=dict(config=_more('ucd'), cfg_options=_mib),
    sdr=dict(config=_more('sdr'), cfg_options=_mib),
    plop=dict(config=_leaf('plop/plop'), cfg_options=_plop),
    plop_ewf=dict(config=_more('plop_ewf'), cfg_options=_plop),
    lgkd=dict(config=_more('lgkd'), cfg_options=_plop),
    reminder=dict(config=_more('reminder'), cfg_options=_plop),
    alife=dict(config=_more('alife'), cfg_options=_alife),
    alife_m=dict(config=_more('alife_m'), cfg_options=_alife),
    dkd=dict(config=_more('dkd'), cfg_options=_dkd),
    ssul=dict(config=_more('ssul'), cfg_options=_extra),
    rcil=dict(
        config=_leaf('rcil/rcil'), step_0='finetune',
        cfg_options=_rcil),
    rcil_ewf=dict(
        config=_more('rcil_ewf'), step_0='finetune',
        cfg_options=_rcil),
    rcil_spwc=dict(
        config=_leaf('spwc/rcil-spwc'), step_0='finetune',
        cfg_options=_rcil_spwc),
    # with a memory of 100 images
    finetune_memory=_leaf('finetune/finetune-memory'),
    mib_augm=dict(config=_leaf('mib/mib-augm'), cfg_options=_mib),
    mib_augm_spwc=dict(config=_leaf('spwc/mib-augm-spwc'), cfg_options=_mib),
    dkd_m=dict(config=_more('dkd_m'), cfg_options=_dkd),
    ssul_m=dict(config=_more('ssul_m'), cfg_options=_extra))
scenarios = [dict(name='15-1', setting='overlapped')]
resources = dict(cpus=1, gpus=0)
cfg_options = {{_base_.scales.small.cfg_options}}
paper = None
scales = None
