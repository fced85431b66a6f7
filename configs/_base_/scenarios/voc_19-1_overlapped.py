scenario = dict(dataset='voc', name='19-1', setting='overlapped')
