scenario = dict(dataset='voc', name='10-1', setting='overlapped')
