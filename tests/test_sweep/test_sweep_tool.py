"""tools/sweep.py as it is called, where Ray is not installed."""
import os
import runpy
import sys
import time
from types import SimpleNamespace

import pytest
from small_sweeps import ROOT, leaf, write_sweep

from mmseg_spwc.errors import ConfigError
from mmseg_spwc.sweep import driver


@pytest.fixture
def tool(monkeypatch, capsys):
    """Call the tool in this process; return its exit code and its words."""

    def call(*words):
        monkeypatch.setattr(driver, 'ray', None)
        monkeypatch.setattr(sys, 'argv', ['sweep.py', *map(str, words)])
        main = runpy.run_path(str(ROOT / 'tools/sweep.py'))['main']
        try:
            code = main()
        except SystemExit as stopped:
            code = stopped.code
        return code, capsys.readouterr()

    return call


def test_without_ray_one_sentence_and_a_command(tool, tmp_path):
    sweep = write_sweep(tmp_path / 's.py',
                        methods=dict(finetune=leaf('finetune')))
    code, said = tool(sweep)
    assert code == 2 and said.out == ''
    assert said.err == (
        "error: Sweeps run on Ray, which is not installed: pip install "
        "'ray>=2.60', or pip install -e .[ray].\n")
    assert not (tmp_path / 'sweep').exists()


class SomeRay:
    """As much of Ray as a sweep asks before its first trial."""

    def __init__(self, version):
        self.__version__ = version
        self.cloudpickle = SimpleNamespace(
            register_pickle_by_value=lambda module: None)

    def init(self, **options):
        self.options = options

    def shutdown(self):
        self.options['ended'] = True


@pytest.mark.parametrize('version', ['2.9.0', '2.51.1', '2.59.9'])
def test_a_ray_that_everybody_may_join_is_refused(version, monkeypatch):
    monkeypatch.setattr(driver, 'ray', SomeRay(version))
    with pytest.raises(ConfigError, match=f"is {version}: .*'ray>=2.60'"):
        driver.require_ray()
    monkeypatch.setattr(driver, 'ray', SomeRay('2.60.0rc1+cpu'))
    with pytest.raises(ConfigError):
        driver.require_ray()
    monkeypatch.setattr(driver, 'ray', SomeRay('2.61.0'))
    driver.require_ray()


def test_ray_of_one_machine_is_reached_from_it_alone(monkeypatch):
    ray = SomeRay('2.60.0')
    monkeypatch.setattr(driver, 'ray', ray)
    with driver.connected():
        assert ray.options['_node_ip_address'] == '127.0.0.1'
        assert ray.options['include_dashboard'] is False
        assert os.environ['RAY_AUTH_MODE'] == 'token'
    assert ray.options['ended']


def test_the_floor_is_that_of_the_requirements():
    text = (ROOT / 'requirements/ray.txt').read_text()
    assert f'ray>={driver.FLOOR}' in text.splitlines()


def test_a_dry_run_needs_no_ray_and_writes_nothing(tool, tmp_path):
    sweep = write_sweep(tmp_path / 's.py',
                        methods=dict(finetune=leaf('finetune')))
    code, said = tool(sweep, '--dry-run')
    assert code == 0, said.err
    assert said.out.startswith('finetune_2_seed0 ')
    assert not (tmp_path / 'sweep').exists()


def test_two_dry_runs_in_one_second(tool, tmp_path, monkeypatch):
    """MMEngine names a runner by the second, and finds its parts by name."""
    monkeypatch.setattr(time, 'time', lambda: 1e9)
    sweep = write_sweep(tmp_path / 's.py',
                        methods=dict(finetune=leaf('finetune')))
    assert tool(sweep, '--dry-run')[0] == 0
    assert tool(sweep, '--dry-run')[0] == 0


def test_a_misspelt_name_is_told_in_one_sentence(tool, tmp_path):
    sweep = write_sweep(tmp_path / 's.py', seed=[1],
                        methods=dict(finetune=leaf('finetune')))
    code, said = tool(sweep)
    assert code == 2
    assert "Unknown name 'seed'" in said.err
    assert "did you mean 'seeds'" in said.err


def test_the_example_can_be_run(tool, tmp_path):
    """What the README shows."""
    code, said = tool(ROOT / 'configs/sweeps/digits.py', '--dry-run',
                      '--work-dir', tmp_path / 'w')
    assert code == 0, said.err
    assert '10 of 10 trials to run' in said.out
    assert said.out.count(' shared ') == 2
