# Minutes on two cores, nothing to download:
#   python tools/sweep.py configs/sweeps/digits.py
methods = dict(
    finetune='../classification/finetune/finetune_mlp_permuted-digits.py',
    ewc=dict(
        config='../classification/ewc/ewc_mlp_permuted-digits.py',
        grid={'method.every.hooks.consolidation.strength': [10., 100., 1000.]}),
    spwc='../classification/spwc/ewc-spwc_mlp_permuted-digits.py')
scenarios = ['5']  # five tasks
seeds = [0, 1]
select = 'held-out accuracy'
resources = dict(cpus=1, gpus=0)
