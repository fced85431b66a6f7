"""Two processes give what one gives, up to the order of sums."""
import functools
import os
from pathlib import Path

import pytest
import torch
from forked_ranks import on_ranks
from mmengine.config import Config
from mmengine.hooks import Hook

from mmseg_spwc.datasets.shapes import generate_shapes
from mmseg_spwc.engine import ContinualRunner
from mmseg_spwc.record import Record
from mmseg_spwc.registry import HOOKS
from mmseg_spwc.runtime.agreement import check_agreement, fingerprint
from mmseg_spwc.runtime.checkpoint import load_step
from mmseg_spwc.runtime.lock import run_lock

METHODS = 'configs/_base_/methods'
# of float32 sums in another order, grown over a few dozen updates
TOLERANCE = 2e-4


@HOOKS.register_module(force=True)
class FrozenNorms(Hook):
    """Batch norms that do not see how a batch is shared out."""

    def before_train_iter(self, runner, batch_idx, data_batch=None):
        for module in runner.model.modules():
            if isinstance(module, torch.nn.BatchNorm2d):
                module.eval()


@HOOKS.register_module(force=True)
class TornApart(Hook):
    """Lets one rank drift away, as a bug in a method might."""

    def after_train(self, runner):
        if torch.distributed.get_rank() == 1:
            next(runner.model.parameters()).data[0] += 1e-6


def train(cfg):
    return ContinualRunner(cfg).train()


@pytest.fixture(scope='module')
def odd_root(tmp_path_factory):
    """Test images that two processes cannot share evenly."""
    root = tmp_path_factory.mktemp('odd') / 'shapes'
    generate_shapes(root, num_train=48, num_val=9, size=32, seed=0)
    return root


@pytest.fixture(scope='module')
def with_method(config_in, odd_root, tmp_path_factory):

    def make(*names, launcher='none', **options):
        folder = tmp_path_factory.mktemp('-'.join(names))
        cfg = config_in(folder, **{
            'scenario.steps': [[1, 2, 3, 4, 5], [6, 7, 8, 9, 10]],
            'data_root': str(odd_root),
            'crop_size': 32,
            'train_cfg.max_epochs': 1,
            'schedule.later.train_cfg.max_epochs': 1,
            'model.decode_head.dropout_ratio': 0.,
            'custom_hooks': [dict(type='mmseg_spwc.FrozenNorms')],
        })
        for name in names:
            fragment = Config.fromfile(f'{METHODS}/{name}.py')
            for key, value in fragment.items():
                cfg[key] = value
        cfg.launcher = launcher
        cfg.merge_from_dict(options)
        return cfg

    return make


@pytest.fixture(scope='module')
def on_one_rank(with_method):
    """The finished run of a method in this process, made once."""

    @functools.cache
    def run(*names):
        cfg = with_method(*names)
        train(cfg)
        return cfg

    return run


def state(cfg, step):
    return load_step(f'{cfg.work_dir}/step_{step:02d}/final.pth')[
        'state_dict']


@pytest.mark.parametrize('names', [
    ('finetune', ), ('mib', ), ('dft', ), ('mib_ewf', ), ('mib_augm', ),
    ('rcil', 'spwc'), *(pytest.param((name, ), marks=pytest.mark.slow)
                        for name in ('dkd_m', 'finetune_memory', 'plop_ewf'))
], ids='-'.join)
def test_two_ranks_equal_one(on_one_rank, with_method, tmp_path, names):
    one = on_one_rank(*names)
    two = with_method(*names, launcher='pytorch')
    # every step compares the hashes of its weights and scores
    assert on_ranks(tmp_path / 'meet', train, two) == ['done', 'done']
    for step in range(2):
        a, b = state(one, step), state(two, step)
        assert a.keys() == b.keys()
        for key in a:
            torch.testing.assert_close(
                a[key], b[key], atol=TOLERANCE, rtol=TOLERANCE, msg=key)
    records = [Record.read(cfg.work_dir) for cfg in (one, two)]
    for a, b in zip(*(r.steps for r in records), strict=True):
        assert a['images'] == b['images'] and a['images']['test'] % 2
        if a['priority']:
            assert a['priority']['v'] == pytest.approx(
                b['priority']['v'], abs=0.02)
    assert not Path(two.work_dir, 'run.lock').exists()


def score(arguments):
    cfg, path = arguments
    scores = ContinualRunner(cfg).test(path)
    if torch.distributed.get_rank() == 0:
        Path(cfg.work_dir, 'print').write_text(fingerprint(scores))


def test_padding_is_not_counted(on_one_rank, with_method, tmp_path):
    """Nine images on two ranks: the tenth is a repetition."""
    cfg = on_one_rank('finetune')
    path = f'{cfg.work_dir}/step_01/final.pth'
    expected = ContinualRunner(cfg).test(path)
    two = with_method('finetune', launcher='pytorch')
    two.work_dir = cfg.work_dir
    assert on_ranks(tmp_path / 'meet', score, (two, path)) == \
        ['done', 'done']
    assert Path(cfg.work_dir, 'print').read_text() == fingerprint(expected)


def test_a_rank_that_drifts_is_found(with_method, tmp_path):
    cfg = with_method('finetune', launcher='pytorch')
    cfg.custom_hooks.append(dict(type='mmseg_spwc.TornApart'))
    told = on_ranks(tmp_path / 'meet', train, cfg)
    for text in told:
        assert 'Disagreement' in text and 'after training step 0' in text
        assert 'weights.' in text and 'ranks [1]' in text
    assert not Path(cfg.work_dir, 'record.json').exists()


def compare(_):
    rank = torch.distributed.get_rank()
    check_agreement('here', same=torch.ones(3), kpi=dict(a=1., b=None))
    check_agreement('there', kpi=dict(a=1., b=float(rank)))


def test_every_rank_gets_the_error(tmp_path):
    for text in on_ranks(tmp_path / 'meet', compare, None):
        assert 'disagree there: kpi.b (and 0 more)' in text


def test_both_ranks_are_refused_a_locked_folder(with_method, tmp_path):
    cfg = with_method('finetune', launcher='pytorch')
    with run_lock(cfg.work_dir):
        told = on_ranks(tmp_path / 'meet', train, cfg)
    for text in told:
        assert f'in use by process {os.getpid()}' in text
