"""A disk that is full when the importances of a step are written."""
import multiprocessing
import resource
from pathlib import Path

from digit_runs import (
    digits,
    same,
    train,
    weights,
)

from mmseg_spwc.errors import user_errors

OPTIONS = {'scenario.name': '2', 'train_cfg.max_epochs': 1,
           'optim_wrapper.optimizer.momentum': 0.}
# bytes: above a checkpoint of 25 450 weights, below importances and anchors
ROOM = 160_000


def train_in_little_room(cfg):
    resource.setrlimit(resource.RLIMIT_FSIZE, (ROOM, ROOM))
    with user_errors():
        train(cfg)


def test_importances_do_not_fit(tmp_path, capfd):
    cfg, whole = (digits(tmp_path / name, 'ewc', **OPTIONS)
                  for name in ('run', 'whole'))
    process = multiprocessing.get_context('fork').Process(
        target=train_in_little_room, args=(cfg, ))
    process.start()
    process.join(120)
    assert process.exitcode == 74
    told = capfd.readouterr().err.strip().splitlines()[-1]
    assert told.startswith('error: Cannot write')
    assert 'Make room and go on with --resume' in told
    folder = Path(cfg.work_dir)
    assert not list(folder.glob('consolidation/*'))
    assert not (folder / 'run.lock').exists()
    assert (folder / 'step_00/epoch_1.pth').exists()
    cfg.resume = True
    for config in (cfg, whole):
        train(config)
    assert same(weights(cfg, 1), weights(whole, 1))
