"""The paper's tables as sweeps: they can be run, and hold its figures."""
from pathlib import Path

import pytest
from mmengine.config import Config

from mmseg_spwc.sweep.plan import plan_trials, trial_config
from mmseg_spwc.sweep.sweep_file import read_sweep

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted((ROOT / 'configs/sweeps/paper').glob('*.py'))
SWEEPS = [(path, scale) for path in FILES for scale in
          (None, *Config.fromfile(path).get('scales', {}))]
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
