# Ten tasks, each with its own permutation of the pixels; one shared head.
scenario = dict(problem='classification', dataset='permuted_mnist', name='10')
