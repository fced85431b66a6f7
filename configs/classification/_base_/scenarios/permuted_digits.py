scenario = dict(task='classification', dataset='permuted_digits', name='10')
