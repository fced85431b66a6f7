"""Weights shared out among two processes train as whole ones do."""
import pytest
import torch
from digit_runs import (
    digits,
    train,
    weights,
)
from forked_ranks import on_ranks
from mmengine.config import Config
from mmengine.hooks import Hook
from packaging.version import Version

from mmseg_spwc.engine.sharded_model import OLDEST, ShardedModel
from mmseg_spwc.registry import HOOKS

pytestmark = pytest.mark.skipif(
    Version(torch.__version__) < Version(OLDEST),
    reason=f'needs torch {OLDEST}')
WRAPPER = dict(type='mmseg_spwc.ShardedModel', units=r'backbone\.layers\.0')
TWO_TASKS = {'scenario.name': '2', 'train_cfg.max_epochs': 1}
TOLERANCE = 1e-4


@HOOKS.register_module(force=True)
class SharesAreSmall(Hook):
    """Checks that a process holds about half of every large tensor."""

    def after_train_iter(self, runner, batch_idx, data_batch=None,
                         outputs=None):
        assert isinstance(runner.model, ShardedModel)
        for group in runner.optim_wrapper.optimizer.param_groups:
            for p in group['params']:
                state = runner.optim_wrapper.optimizer.state[p]
                for t in (p, state['momentum_buffer']):
                    assert t.to_local().numel() <= 0.6 * t.numel() + 100


def sharded(cfg: Config) -> Config:
    cfg.launcher = 'pytorch'
    cfg.model_wrapper_cfg = dict(WRAPPER)
    cfg.custom_hooks = [*cfg.get('custom_hooks', []),
                        dict(type='mmseg_spwc.SharesAreSmall')]
    return cfg


def assert_equal(one: Config, two: Config) -> None:
    for step in range(2):
        a, b = weights(one, step), weights(two, step)
        assert a.keys() == b.keys()
        for key in a:
            torch.testing.assert_close(
                a[key], b[key], atol=TOLERANCE, rtol=TOLERANCE, msg=key)


def test_finetuning_equals_one_process(tmp_path):
    one = digits(tmp_path / 'one', 'finetune', **TWO_TASKS)
    two = sharded(digits(tmp_path / 'two', 'finetune', **TWO_TASKS))
    train(one)
    assert on_ranks(tmp_path / 'meet', train, two) == ['done', 'done']
    assert_equal(one, two)
    assert not list((tmp_path / 'two').glob('step_*/epoch_*.pth'))


def test_penalties_need_whole_weights(tmp_path):
    cfg = sharded(digits(tmp_path / 'run', 'ewc', **TWO_TASKS))
    for text in on_ranks(tmp_path / 'meet', train, cfg):
        assert 'ConfigError: A method that penalises' in text


@pytest.mark.slow
@pytest.mark.parametrize('method', ['finetune', 'mib'])
def test_segmentation(config_in, tmp_path, method):
    cfgs = []
    for name in ('one', 'two'):
        cfg = config_in(tmp_path / name, **{
            'experiment_name': f'{tmp_path}/{name}',
            'scenario.steps': [[1, 2, 3, 4, 5], [6, 7, 8, 9, 10]],
            'train_cfg.max_epochs': 1,
            'schedule.later.train_cfg.max_epochs': 1,
            'model.decode_head.dropout_ratio': 0.,
            # batch norms would see half a batch
            'model.backbone.norm_eval': True,
            'model.decode_head.norm_cfg': dict(
                _delete_=True, type='GN', num_groups=8)})
        cfg.method = Config.fromfile(
            f'configs/_base_/methods/{method}.py').method
        cfgs.append(cfg)
    one, two = cfgs[0], sharded(cfgs[1])
    two.model_wrapper_cfg.units = r'backbone\.layer\d'
    train(one)
    assert on_ranks(tmp_path / 'meet', train, two) == ['done', 'done']
    assert_equal(one, two)
