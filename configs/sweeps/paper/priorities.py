# The paper's figure of the priority of every task, on Tiny ImageNet.
#   python tools/sweep.py configs/sweeps/paper/priorities.py
#   python tools/sweep.py configs/sweeps/paper/priorities.py --scale small
_base_ = './tiny_imagenet.py'
methods = dict(finetune=None, joint=None, ewc=None, online_ewc=None, lwf=None,
               si=None, mas=None, blip=None)
paper = dict(
    _delete_=True,
    title='Priority of every task on Tiny ImageNet',
    needs='Tiny ImageNet; any GPU, four trials to one; 60 trials',
    figures=['priority'],
    says='The priority of an old task rises as more tasks are learnt, for '
    'EWC+spWC and MAS+spWC alike.')
