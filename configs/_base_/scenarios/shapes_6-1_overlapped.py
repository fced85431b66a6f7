scenario = dict(dataset='shapes', name='6-1', setting='overlapped')
