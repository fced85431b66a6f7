"""The processes of a run, and how they begin and end."""
import contextlib
import os
import subprocess
from collections.abc import Iterator

import torch
from mmengine.dist import is_distributed

from mmseg_spwc.errors import ConfigError, Preempted

# the variable that tells that a launcher is at work, and what to do without
LAUNCHED = dict(
    pytorch=('RANK', 'under torchrun: use tools/dist_train.sh, or leave '
             '--launcher out for one process.'),
    slurm=('SLURM_PROCID', 'inside a Slurm job: use tools/slurm_train.sh. '
           'Elsewhere use torchrun.'))


def start_processes(launcher: str) -> None:
    """Join the process group where MMEngine cannot do it: on CPUs.

    MMEngine's launcher sets a CUDA device; without one the group is opened
    here with gloo, and MMEngine then uses it.
    """
    variable, advice = LAUNCHED.get(launcher, (None, ''))
    if variable and variable not in os.environ:
        raise ConfigError(f'The launcher {launcher} works {advice}')
    if launcher == 'none' or torch.cuda.is_available() or is_distributed():
        return
    if launcher == 'mpi':
        raise ConfigError('Without a GPU only the launchers pytorch and '
                          'slurm work: use torchrun or srun.')
    if launcher == 'slurm':
        _take_place_in_job()
    os.environ.setdefault('LOCAL_RANK', '0')
    torch.distributed.init_process_group('gloo')


@contextlib.contextmanager
def processes(launcher: str) -> Iterator[None]:
    """Be one of the processes of a run until it is done or asked to stop.

    A process that ends without leaving its group may abort while the others
    leave. One that fails leaves them to the launcher.
    """
    start_processes(launcher)
    try:
        yield
    except Preempted:
        _leave_processes()
        raise
    _leave_processes()


def _leave_processes() -> None:
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


def _take_place_in_job() -> None:
    """Tell torch what Slurm says of this process, as MMEngine does."""
    for name, source in (('RANK', 'SLURM_PROCID'),
                         ('LOCAL_RANK', 'SLURM_LOCALID'),
                         ('WORLD_SIZE', 'SLURM_NTASKS')):
        os.environ[name] = os.environ[source]
    os.environ.setdefault('MASTER_PORT', '29500')
    if 'MASTER_ADDR' not in os.environ:
        nodes = subprocess.run(
            ['scontrol', 'show', 'hostnames',
             os.environ['SLURM_JOB_NODELIST']],
            capture_output=True, text=True, check=True)
        os.environ['MASTER_ADDR'] = nodes.stdout.split()[0]
