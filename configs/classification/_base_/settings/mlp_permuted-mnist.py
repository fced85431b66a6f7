_base_ = [
    '../models/mlp.py',
    '../datasets/mnist.py',
    '../scenarios/permuted_mnist.py',
    '../schedules/mlp_2e.py',
    '../default_runtime.py',
]
