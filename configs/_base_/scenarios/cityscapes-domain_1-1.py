scenario = dict(dataset='cityscapes_domain', name='1-1')
