_base_ = './ewc_mlp_permuted-mnist.py'
scenario = dict(heads='per_step')
