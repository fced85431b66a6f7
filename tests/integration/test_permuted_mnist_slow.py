"""EWC and EWC+spWC on the real Permuted-MNIST."""
import os
import statistics
from pathlib import Path

import pytest
from mmengine.config import Config

from mmseg_spwc.engine import ContinualRunner

CONFIGS = Path(__file__).resolve().parents[2] / 'configs/classification'
SEEDS = (0, 1, 2)


@pytest.fixture(scope='module')
def mnist():
    root = Path(os.environ.get('MMSEG_SPWC_DATA', '')) / 'mnist'
    if not any(root.glob('train-images*')):
        pytest.skip('needs mnist under $MMSEG_SPWC_DATA')
    return root


def summaries(leaf: str, mnist: Path, folder: Path) -> list:
    found = []
    for seed in SEEDS:
        cfg = Config.fromfile(CONFIGS / leaf)
        cfg.merge_from_dict({
            'data_root': str(mnist), 'randomness.seed': seed,
            'experiment_name': f'{Path(leaf).stem}_{seed}',
            'work_dir': str(folder / f'{Path(leaf).stem}_{seed}')})
        found.append(ContinualRunner(cfg).train().content['summary'])
    return found


def mean(runs: list, key: str) -> float:
    return statistics.mean(run[key] for run in runs)


@pytest.mark.slow
def test_published_level(mnist, tmp_path):
    ewc = summaries('ewc/ewc_mlp_permuted-mnist.py', mnist, tmp_path)
    spwc = summaries('spwc/ewc-spwc-protected_mlp_permuted-mnist.py', mnist,
                     tmp_path)
    assert mean(ewc, 'first_accuracy') == pytest.approx(0.965, abs=0.01)
    assert mean(ewc, 'average_apa') >= 0.945
    assert mean(spwc, 'average_apa') >= 0.945
    # the same tasks from the same seeds: no more than noise apart
    assert mean(spwc, 'average_apa') >= mean(ewc, 'average_apa') - 0.005
    assert [run['ps_active'] for run in ewc] == pytest.approx(
        [0.2929] * 3, abs=1e-4)
