scenario = dict(dataset='ade', name='100-10', setting='overlapped')
