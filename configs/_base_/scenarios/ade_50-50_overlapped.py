scenario = dict(dataset='ade', name='50-50', setting='overlapped')
