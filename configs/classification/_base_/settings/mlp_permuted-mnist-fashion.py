_base_ = [
    '../models/mlp.py',
    '../datasets/mnist_fashion.py',
    '../schedules/mlp_2e.py',
    '../default_runtime.py',
]
