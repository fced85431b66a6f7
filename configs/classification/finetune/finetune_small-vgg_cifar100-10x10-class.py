# The task is not known at test: one head over all classes so far.
_base_ = './finetune_small-vgg_cifar100-10x10.py'
scenario = dict(kind='class')
