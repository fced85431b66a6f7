"""tools/slurm_train.sh on a real Slurm."""
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from slurm_cluster import SlurmCluster, missing

from mmseg_spwc.record import Record
from mmseg_spwc.runtime.checkpoint import load_step

ROOT = Path(__file__).resolve().parents[2]
CONFIG = 'configs/classification/ewc/ewc_mlp_permuted-digits.py'
TINY = ('scenario.name=2', 'total_batch_size=64', 'train_cfg.max_epochs=2',
        'model.backbone.hidden=24,24', 'model.head.in_channels=24',
        'default_hooks.checkpoint.interval=1')
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        bool(missing()), reason='Slurm is not installed: apt-get install '
        f'slurm-wlm munge (missing: {", ".join(missing())})')
]


@pytest.fixture(scope='module')
def cluster(tmp_path_factory):
    # not below pytest's own folder, whose paths may be too long for sockets
    with SlurmCluster(tmp_path_factory.mktemp('slurm')) as running:
        yield running


@pytest.fixture
def slurm_train(cluster):
    """Start the script; return the process."""

    def start(folder, *options, **env):
        env = dict(cluster.env, PYTHON=sys.executable, CPUS_PER_TASK='1',
                   OMP_NUM_THREADS='1', PYTHONPATH=str(ROOT), **env)
        env = {k: v for k, v in env.items() if k != 'MASTER_PORT'}
        return subprocess.Popen(
            [ROOT / 'tools/slurm_train.sh', 'part', 'job', CONFIG,
             '--work-dir', folder, *options], cwd=ROOT, env=env, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    return start


def finish(process):
    said = process.communicate(timeout=300)
    return process.returncode, ''.join(said)


def weights(folder, step):
    return load_step(folder / f'step_{step:02d}/final.pth')['state_dict']


@pytest.fixture(scope='module')
def expected(tmp_path_factory):
    """The same on two processes that torchrun starts."""
    folder = tmp_path_factory.mktemp('torchrun')
    subprocess.run(
        [sys.executable, '-m', 'torch.distributed.run', '--standalone',
         '--nproc_per_node=2', 'tools/train.py', CONFIG, '--launcher',
         'pytorch', '--work-dir', folder, '--cfg-options', *TINY], cwd=ROOT,
        check=True, capture_output=True, timeout=300)
    return folder


@pytest.mark.parametrize('env', [dict(GPUS='2'), dict(GPUS='0', TASKS='2')])
def test_two_steps_on_two_ranks(slurm_train, expected, tmp_path, env):
    """With GPUs that Slurm grants but torch does not see, and without."""
    code, said = finish(
        slurm_train(tmp_path / 'run', '--cfg-options', *TINY, **env))
    assert code == 0, said
    record = Record.read(tmp_path / 'run').content
    assert record['status'] == 'finished' and len(record['steps']) == 2
    assert record['run']['world_size'] == 2
    for step in (0, 1):
        ours, theirs = (weights(folder, step)
                        for folder in (tmp_path / 'run', expected))
        assert all(torch.equal(ours[k], theirs[k]) for k in theirs)


def test_a_cancelled_job_saves_and_goes_on(cluster, slurm_train, tmp_path):
    longer = [o for o in TINY if 'max_epochs' not in o]
    options = ['--cfg-options', *longer, 'train_cfg.max_epochs=60']
    process = slurm_train(tmp_path / 'run', *options, GPUS='2')
    for _ in range(1200):
        if list((tmp_path / 'run').glob('step_00/epoch_*.pth')):
            break
        assert process.poll() is None, process.communicate()
        time.sleep(0.1)
    subprocess.run(['scancel', '--name=job'], env=cluster.env, check=True)
    code, said = finish(process)
    assert code == 75, said
    assert not (tmp_path / 'run/run.lock').exists()
    saved = list((tmp_path / 'run').glob('step_00/epoch_*.pth')) + list(
        (tmp_path / 'run').glob('step_00/iter_*.pth'))
    assert saved
    code, said = finish(slurm_train(tmp_path / 'run', '--resume', *options,
                                    GPUS='2'))
    assert code == 0, said
    assert Record.read(tmp_path / 'run').content['status'] == 'finished'


def test_bad_input_ends_the_job_with_its_code(slurm_train, tmp_path):
    code, said = finish(slurm_train(
        tmp_path / 'run', '--cfg-options', 'total_batch_size=x', GPUS='2'))
    assert code == 2
    assert 'error: total_batch_size is' in said
