"""Processes join their group, and leave it when they are done."""
import contextlib
import os
import subprocess
from types import SimpleNamespace

import pytest
import torch

from mmseg_spwc.errors import ConfigError, Preempted
from mmseg_spwc.runtime.processes import processes, start_processes


def test_a_process_takes_its_place_in_a_slurm_job(monkeypatch):
    opened = []
    monkeypatch.setattr(torch.distributed, 'init_process_group',
                        lambda backend: opened.append(backend))
    monkeypatch.setattr(
        subprocess, 'run',
        lambda command, **_: SimpleNamespace(stdout='node3\nnode4\n'))
    job = dict(SLURM_PROCID='3', SLURM_LOCALID='1', SLURM_NTASKS='4',
               SLURM_JOB_NODELIST='node[3-4]')
    monkeypatch.setattr(os, 'environ', dict(job))
    start_processes('slurm')
    assert opened == ['gloo']
    assert os.environ == dict(
        job, RANK='3', LOCAL_RANK='1', WORLD_SIZE='4', MASTER_PORT='29500',
        MASTER_ADDR='node3')


def test_the_launcher_slurm_needs_a_job(monkeypatch):
    monkeypatch.delenv('SLURM_PROCID', raising=False)
    with pytest.raises(ConfigError, match='inside a Slurm job'):
        start_processes('slurm')


@pytest.mark.parametrize('error, leaves', [
    (None, True), (Preempted, True), (ConfigError, False)])
def test_a_process_that_is_done_or_stopped_leaves_its_group(
        monkeypatch, error, leaves):
    calls = []
    for name in ('RANK', 'LOCAL_RANK'):
        monkeypatch.setenv(name, '0')
    for name in ('init_process_group', 'destroy_process_group'):
        monkeypatch.setattr(torch.distributed, name,
                            lambda *_, name=name: calls.append(name))
    monkeypatch.setattr(torch.distributed, 'is_initialized',
                        lambda: bool(calls))
    with contextlib.suppress(Preempted, ConfigError), processes('pytorch'):
        assert calls == ['init_process_group']
        if error:
            raise error('now')
    assert ('destroy_process_group' in calls) == leaves


def test_a_process_alone_has_no_group_to_leave():
    with processes('none'):
        assert not torch.distributed.is_initialized()
