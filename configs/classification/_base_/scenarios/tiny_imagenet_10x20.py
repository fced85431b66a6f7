# Ten tasks of twenty random classes, a head each; the task is known at test.
scenario = dict(
    problem='classification', dataset='tiny_imagenet', name='10x20', kind='task')
