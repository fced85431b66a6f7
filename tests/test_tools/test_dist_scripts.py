"""The shell scripts start what they say, with every word in its place."""
import os
import subprocess
from pathlib import Path

import pytest

TOOLS = Path(__file__).resolve().parents[2] / 'tools'
SCRIPTS = sorted(TOOLS.glob('*.sh'))
NAMES = ('dist_test.sh', 'dist_train.sh', 'slurm_train.sh')


@pytest.fixture
def call(tmp_path):
    """Run a script with programs that only write down their words."""
    for name in ('python', 'srun', 'other python'):
        program = tmp_path / name
        program.write_text('#!/bin/sh\nfor word; do echo "$word"; done\n')
        program.chmod(0o755)

    def run(script, *words, **env):
        return subprocess.run(
            [TOOLS / script, *words], capture_output=True, text=True,
            env=dict(env, PATH=f'{tmp_path}:/usr/bin:/bin'), cwd=tmp_path)

    return run


def test_all_are_there_and_executable():
    assert tuple(path.name for path in SCRIPTS) == NAMES
    for path in SCRIPTS:
        assert os.access(path, os.X_OK)
        assert path.read_text().startswith('#!/usr/bin/env bash\n')


@pytest.mark.parametrize('name', NAMES)
def test_syntax_and_usage(call, name):
    subprocess.run(['bash', '-n', TOOLS / name], check=True)
    done = call(name, 'one')
    assert done.returncode == 2
    assert done.stderr.startswith('usage: ') and done.stdout == ''


def test_dist_train(call):
    done = call('dist_train.sh', 'my config.py', '2', '--cfg-options',
                'a=[1, 2]', 'b="x y"')
    assert done.stdout.splitlines() == [
        '-m', 'torch.distributed.run', '--nnodes=1', '--node_rank=0',
        '--master_addr=127.0.0.1', '--master_port=29500',
        '--nproc_per_node=2', str(TOOLS / 'train.py'), 'my config.py',
        '--launcher', 'pytorch', '--cfg-options', 'a=[1, 2]', 'b="x y"']


def test_several_machines(call, tmp_path):
    done = call('dist_train.sh', 'c.py', '8', NNODES='4', NODE_RANK='3',
                PORT='1234', MASTER_ADDR='head node',
                PYTHON=str(tmp_path / 'other python'))
    assert done.stdout.splitlines()[2:7] == [
        '--nnodes=4', '--node_rank=3', '--master_addr=head node',
        '--master_port=1234', '--nproc_per_node=8']


def test_dist_test(call):
    done = call('dist_test.sh', 'c.py', 'step 0/final.pth', '2', '--out',
                'o.json')
    assert done.stdout.splitlines()[-8:] == [
        '--nproc_per_node=2', str(TOOLS / 'test.py'), 'c.py',
        'step 0/final.pth', '--launcher', 'pytorch', '--out', 'o.json']


def test_slurm_train(call):
    done = call('slurm_train.sh', 'part', 'my job', 'c.py', '--resume',
                GPUS='4', SRUN_ARGS='--time=1:00 --nodes=1')
    words = done.stdout.splitlines()
    assert words == [
        '--partition=part', '--job-name=my job', '--gres=gpu:4',
        '--ntasks=4', '--ntasks-per-node=4', '--cpus-per-task=5',
        '--wait=60', '--time=1:00', '--nodes=1', 'python', '-u',
        str(TOOLS / 'train.py'), 'c.py', '--launcher', 'slurm', '--resume']
    words = call('slurm_train.sh', 'part', 'job', 'c.py').stdout.splitlines()
    assert '--ntasks=8' in words and '--ntasks-per-node=8' in words


def test_slurm_nodes_without_gpus(call):
    done = call('slurm_train.sh', 'part', 'job', 'c.py', GPUS='0', TASKS='3')
    words = done.stdout.splitlines()
    assert '--ntasks=3' in words and '--cpus-per-task=5' in words
    assert not any(w.startswith('--gres') for w in words)
    done = call('slurm_train.sh', 'part', 'job', 'c.py', GPUS='0')
    assert done.returncode == 2 and 'needs TASKS=N' in done.stderr


def test_processes_of_a_slurm_job_meet_at_a_port_of_their_own(call, tmp_path):
    (tmp_path / 'srun').write_text('#!/bin/sh\necho $MASTER_PORT\n')
    ports = {int(call('slurm_train.sh', 'part', 'job', 'c.py').stdout)
             for _ in range(8)}
    assert len(ports) > 1 and all(20000 <= p < 30000 for p in ports)
    done = call('slurm_train.sh', 'part', 'job', 'c.py', PORT='1234')
    assert done.stdout == '1234\n'


def test_a_word_list_may_hold_a_star(call):
    done = call('dist_train.sh', 'c.py', '1', '--cfg-options', 'a=*')
    assert done.stdout.splitlines()[-1] == 'a=*'
