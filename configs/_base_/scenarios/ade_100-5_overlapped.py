scenario = dict(dataset='ade', name='100-5', setting='overlapped')
