# The paper's figure of parameter size efficiency by task, on Permuted-MNIST.
#   python tools/sweep.py configs/sweeps/paper/ps.py
#   python tools/sweep.py configs/sweeps/paper/ps.py --scale small
_base_ = './permuted_mnist.py'
methods = dict(finetune=None, joint=None, lwf=None, si=None, blip=None)
paper = dict(
    _delete_=True,
    title='PS by task on Permuted-MNIST',
    needs='MNIST; any GPU, four trials to one, or a CPU; 150 trials',
    figures=['ps_by_task'],
    says='PS after ten tasks is 0.29 for EWC and 0.46 for EWC+spWC; '
    'online-EWC and MAS are more efficient.',
    scores=dict(ewc=dict(ps_active=0.29), ewc_spwc=dict(ps_active=0.46)))
