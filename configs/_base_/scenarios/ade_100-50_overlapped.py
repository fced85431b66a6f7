scenario = dict(dataset='ade', name='100-50', setting='overlapped')
