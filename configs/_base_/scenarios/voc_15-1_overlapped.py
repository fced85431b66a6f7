scenario = dict(dataset='voc', name='15-1', setting='overlapped')
