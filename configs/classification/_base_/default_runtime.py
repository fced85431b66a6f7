_base_ = '../../_base_/default_runtime.py'

default_scope = 'mmpretrain'
custom_imports = dict(
    imports=['mmseg_spwc.classification'], allow_failed_imports=False)
# a fifth of every class validates: it scores the tasks and trains nothing.
# Split, class order and permutations follow the run's seed.
heldout = dict(_delete_=True, ratio=0.2)

default_hooks = dict(logger=dict(interval=100))
visualizer = dict(
    _delete_=True,
    type='UniversalVisualizer',
    vis_backends=[dict(type='LocalVisBackend')],
    name='visualizer')
