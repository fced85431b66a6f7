# The paper's figure of Fisher information against difficulty, on Permuted-MNIST.
#   python tools/sweep.py configs/sweeps/paper/fisher.py
#   python tools/sweep.py configs/sweeps/paper/fisher.py --scale small
_base_ = './permuted_mnist.py'
methods = dict(finetune=None, joint=None, online_ewc=None, lwf=None, si=None,
               mas=None, blip=None, ewc_spwc=None, mas_spwc=None)
paper = dict(
    _delete_=True,
    title='Fisher information and difficulty of every task, Permuted-MNIST',
    needs='MNIST; any GPU, four trials to one, or a CPU; 30 trials',
    figures=['importance_error'],
    says='The Fisher information of a task is not correlated with its '
    'difficulty.')
