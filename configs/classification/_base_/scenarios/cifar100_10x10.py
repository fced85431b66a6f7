# Ten tasks of ten random classes, a head each; the task is known at test.
scenario = dict(
    problem='classification', dataset='cifar100', name='10x10', kind='task')
