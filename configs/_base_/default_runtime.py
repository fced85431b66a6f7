default_scope = 'mmseg'
custom_imports = dict(imports=['mmseg_spwc'], allow_failed_imports=False)
runner_type = 'mmseg_spwc.ContinualRunner'

env_cfg = dict(
    cudnn_benchmark=False,
    mp_cfg=dict(mp_start_method='fork', opencv_num_threads=0),
    dist_cfg=dict(backend='nccl'))
randomness = dict(seed=42)
# 10 % of the training images score the units of spWC and train nothing
heldout = dict(ratio=0.1, seed=0)

default_hooks = dict(
    timer=dict(type='IterTimerHook'),
    logger=dict(type='LoggerHook', interval=50),
    param_scheduler=dict(type='ParamSchedulerHook'),
    # two: should the newer one be damaged, the older one goes on
    checkpoint=dict(type='CheckpointHook', interval=1, max_keep_ckpts=2),
    sampler_seed=dict(type='DistSamplerSeedHook'))
# every step gets its guards (mmseg_spwc/config/types.py) by itself
visualizer = dict(
    type='SegLocalVisualizer',
    vis_backends=[dict(type='LocalVisBackend')],
    name='visualizer')
log_processor = dict(window_size=20)
log_level = 'INFO'
