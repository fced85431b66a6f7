scenario = dict(problem='classification', dataset='permuted_digits', name='10')
