scenario = dict(dataset='voc', name='15-5', setting='overlapped')
