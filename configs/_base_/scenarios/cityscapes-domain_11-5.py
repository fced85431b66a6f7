scenario = dict(dataset='cityscapes_domain', name='11-5')
