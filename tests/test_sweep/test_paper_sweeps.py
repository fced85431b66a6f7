"""The paper's tables as sweeps: they can be run, and hold its figures."""
import sys
from pathlib import Path

import pytest
from mmengine.config import Config

from mmseg_spwc.cli import main
from mmseg_spwc.config.step import scenario_of, step_config
from mmseg_spwc.sweep.plan import plan_trials, trial_config
from mmseg_spwc.sweep.sweep_file import FIGURES, read_sweep
from mmseg_spwc.visualization import figures

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted((ROOT / 'configs/sweeps/paper').glob('*.py'))
SWEEPS = [(path, scale) for path in FILES for scale in
          (None, *(scale for scale, changes in Config.fromfile(path).get(
              'scales', {}).items() if changes))]
TEN = ('finetune', 'joint', 'ewc', 'online_ewc', 'lwf', 'si', 'mas', 'blip',
       'ewc_spwc', 'mas_spwc')
# accuracy of the first task: the same for all that train it alike
FIRST = dict(permuted_mnist=96.5, cifar100=63.1, tiny_imagenet=51.4)
# and for those whose figures do not fit it
OTHERS = {('cifar100', 'finetune'): 62.9, ('cifar100', 'blip'): 61.6}


@pytest.mark.parametrize('path, scale', SWEEPS,
                         ids=lambda v: getattr(v, 'stem', v))
def test_every_trial_has_a_config(path, scale, tmp_path):
    """Options and keys of the grid are those of the configs."""
    sweep = read_sweep(path, scale)
    firsts = {}
    for trial in plan_trials(sweep):
        firsts.setdefault(trial.method.name, trial)
    for trial in firsts.values():
        cfg = trial_config(trial, tmp_path)
        assert cfg.randomness.seed == trial.seed
    assert path.read_text().splitlines()[1].startswith(
        f'#   python tools/sweep.py {path.relative_to(ROOT)}')


@pytest.mark.parametrize('data', FIRST)
def test_figures_of_the_table_of_classification(data):
    """Average ACF follows from average APA and the first task's accuracy."""
    sweep = read_sweep(ROOT / f'configs/sweeps/paper/{data}.py')
    assert tuple(method.name for method in sweep.methods) == TEN
    assert tuple(sweep.paper['scores']) == TEN
    for method, row in sweep.paper['scores'].items():
        first = row['average_apa'][0] + 0.9 * row['average_acf'][0]
        assert first == pytest.approx(
            OTHERS.get((data, method), FIRST[data]), abs=0.1)


def test_a_grid_varies_what_only_rows_of_a_table_hold(tmp_path):
    sweep = read_sweep(ROOT / 'configs/sweeps/paper/voc_10_1_overlapped.py',
                       'small_search')
    found = {
        trial_config(trial, tmp_path).method.later.model.losses.pod.factor
        for trial in plan_trials(sweep) if trial.method.name == 'plop'
    }
    assert found == {0.003, 0.01, 0.03}


@pytest.fixture(scope='module')
def small_steps(tmp_path_factory):
    """The first two steps of every method on VOC 15-1 at 128 px."""
    sweep, folder = (read_sweep(ROOT / 'configs/sweeps/voc_15_1.py'),
                     tmp_path_factory.mktemp('voc'))
    configs = {trial.method.name: trial_config(trial, folder)
               for trial in plan_trials(sweep)}
    return {name: (cfg, *(step_config(cfg, scenario_of(cfg), step)
                          for step in (0, 1)))
            for name, cfg in configs.items()}


def rate_of(step, part):
    """A short key of ``custom_keys`` loses against a longer one that fits."""
    optim = step.optim_wrapper
    rates = dict(optim.get('paramwise_cfg', {}).get('custom_keys', {}))
    key = max((k for k in rates if k in part), key=len, default=None)
    return optim.optimizer.lr * rates.get(key, {}).get('lr_mult', 1.)


def test_every_method_is_compared_with_sound_settings(small_steps):
    compared = set()
    for name, (cfg, first, later) in small_steps.items():
        compared.add(cfg.method.name)
        rates = [rate_of(later, part) for part in (
            'decode_head.conv_seg.convs.0', 'decode_head.conv_seg.convs.1',
            'backbone.layer1', 'decode_head.aspp.1')]
        assert rates == ([.02] * 4 if name == 'joint' else [
            2e-4, pytest.approx(.01), 4e-4, 4e-4])
        assert first.train_cfg.max_epochs == 5
        if name != 'joint':
            assert later.model.frozen_norm == '.'
            assert later.train_cfg.max_epochs == 1
    fragments = (ROOT / 'configs/_base_/methods').glob('*.py')
    known = {Config.fromfile(path).get('method', {}).get('name')
             for path in fragments if 'compat' not in path.stem}
    assert compared - known == {'MiB+EWF (Fisher)'}
    assert known - compared == {None, 'Joint'}


def test_what_builds_on_a_method_has_its_strength(small_steps):
    best = Config.fromfile(
        ROOT / 'configs/sweeps/paper/voc_10_1_overlapped.py').scales.small
    strengths = {}
    for name, (_, _, step) in small_steps.items():
        losses = step.model.losses
        strengths[name] = losses.get('kd', losses.get('pod', {})).get(
            'loss_weight', losses.get('pod', {}).get('factor'))
        if name.startswith(('mib', 'ucd', 'sdr', 'rcil')):
            assert losses.pixel.new_offset == 1
    for base, key in (('mib', 'kd.loss_weight'), ('rcil', 'kd.loss_weight'),
                      ('plop', 'pod.factor')):
        value = best.methods[base].cfg_options[
            f'method.later.model.losses.{key}']
        assert {v for name, v in strengths.items()
                if name.startswith(base)} == {value}
    assert strengths['ucd'] == strengths['sdr'] == strengths['mib']
    assert strengths['lgkd'] == strengths['reminder'] == strengths['plop']


def test_the_figures_are_those_that_there_are():
    assert {*FIGURES, 'qualitative'} == {*figures.FIGURES}


def test_the_table_of_k_and_the_table_of_voc_agree():
    """k = 15 is the row of RCIL+spWC."""
    k, voc = (read_sweep(ROOT / f'configs/sweeps/paper/{name}.py').paper
              for name in ('k', 'voc_10_1_overlapped'))
    assert k['scores']['k_15']['all'] == voc['scores']['rcil_spwc']['all']
    classes = [voc['scores']['rcil_spwc'][f'class_{i}'] for i in range(21)]
    assert k['scores']['k_15']['base'] == pytest.approx(
        sum(classes[:11]) / 11, abs=0.1)
    assert k['scores']['k_15']['new'] == pytest.approx(
        sum(classes[11:]) / 10, abs=0.1)


def test_the_command_lists_every_file_with_what_it_needs(capsys, monkeypatch):
    monkeypatch.setattr(sys, 'argv', ['mmseg-spwc', 'paper'])
    with pytest.raises(SystemExit) as stopped:
        main()
    said = capsys.readouterr().out
    assert stopped.value.code == 0
    for path in FILES:
        assert f'\n{path.stem.replace("_", "-")}: ' in said
    assert said.count('    as published: ') == len(FILES)


def test_the_command_runs_the_file_that_it_names(capsys, monkeypatch):
    monkeypatch.setattr(sys, 'argv', ['mmseg-spwc', 'paper', 'voc-10-2'])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    assert 'choose one of cifar100, ' in capsys.readouterr().err
    monkeypatch.setattr(sys, 'argv', [
        'mmseg-spwc', 'paper', 'voc-10-1-overlapped', '--scale', 'tiny'])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    assert "has no scale 'tiny'" in capsys.readouterr().err
