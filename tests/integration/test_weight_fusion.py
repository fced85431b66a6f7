"""EWF: a step ends between the network before it and the trained one."""
import math
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from mmengine.config import Config
from mmengine.hooks import Hook

from mmseg_spwc.engine import ContinualRunner
from mmseg_spwc.engine.hooks.weight_fusion_hook import (
    WeightFusionHook,
    share_of_parameter,
)
from mmseg_spwc.errors import ConfigError
from mmseg_spwc.record import Record
from mmseg_spwc.registry import HOOKS
from mmseg_spwc.runtime.checkpoint import load_step

METHODS = Path(__file__).resolve().parents[2] / 'configs/_base_/methods'
FUSION = 'method.every.hooks.fusion'


class Died(Exception):
    pass


@HOOKS.register_module(force=True)
class DiesAfterFusion(Hook):
    """Ends the run once, before the step is saved."""

    priority = 'LOW'

    def after_train(self, runner):
        mark = Path(runner.work_dir, 'died')
        if runner.work_dir.endswith('step_01') and not mark.exists():
            mark.touch()
            raise Died


@pytest.fixture(scope='module')
def with_method(config_in, tmp_path_factory):

    def make(name='mib_ewf', **options):
        cfg = config_in(tmp_path_factory.mktemp(name), **{
            'scenario.steps': [[1, 2, 3, 4, 5], [6, 7], [8, 9, 10]],
            'train_cfg.max_epochs': 1,
            'schedule.later.train_cfg.max_epochs': 1})
        cfg.method = Config.fromfile(METHODS / f'{name}.py').method
        cfg.merge_from_dict(options)
        return cfg

    return make


def train(cfg, number=2):
    """The weights after each of the first steps, and the record."""
    class First(ContinualRunner):
        @property
        def steps(self):
            return list(range(number))

    record = First(cfg).train()
    return [load_step(f'{cfg.work_dir}/step_{s:02d}/final.pth')['state_dict']
            for s in range(number)], record


@pytest.fixture(scope='module')
def unfused(with_method):
    """Step 0, and step 1 as MiB trains it with old classifiers frozen."""
    cfg = with_method(**{FUSION: None})
    return cfg, train(cfg)[0]


@pytest.fixture
def fused(with_method, unfused):

    def run(number=2, **options):
        cfg = with_method(**options)
        cfg.start_from = f'{unfused[0].work_dir}/step_00/final.pth'
        return train(cfg, number)

    return run


def is_new(key):
    return '.convs.1.' in key


@pytest.mark.parametrize('share', [0, .3, 1])
def test_a_step_ends_on_the_line(unfused, fused, share):
    before, trained = unfused[1]
    (_, after), _ = fused(**{f'{FUSION}.share': share})
    assert after.keys() == trained.keys()
    for key, value in after.items():
        if is_new(key) or not value.is_floating_point() or share == 1:
            expected = trained[key]
            assert torch.equal(value, expected)
        elif share == 0:
            assert torch.equal(value, before[key])
        else:
            torch.testing.assert_close(
                value - before[key], share * (trained[key] - before[key]))


def test_the_formula_counts_the_background(unfused, fused):
    before, trained = unfused[1]
    (_, after), _ = fused()
    key = 'backbone.conv1.weight'
    ratio = (after[key] - before[key]).norm() / (
        trained[key] - before[key]).norm()
    assert ratio.item() == pytest.approx(math.sqrt(2 / 8), rel=1e-3)
    bias = 'decode_head.conv_seg.convs.0.bias'
    assert (after[bias] - before[bias])[0].item() == pytest.approx(
        -.5 * math.log(3), rel=1e-4)
    assert torch.equal(after[bias][1:], before[bias][1:])


@pytest.mark.parametrize('channels, share', [
    ((16, 1), .2425356), ((16, 1, 1, 1, 1, 1), .218), ((20, 1), .218),
    ((16, 5), .488), ((11, 1), .289), ((101, 50), .575), ((101, 10), .300),
    ((101, 5), .217)])
def test_published_shares(channels, share):
    student = SimpleNamespace(channels=channels, num_new=channels[-1])
    assert WeightFusionHook()._share_of(student) == pytest.approx(
        share, abs=5e-4 if share != .2425356 else 1e-7)
    assert WeightFusionHook(share=.4)._share_of(student) == .4


def test_statistics_of_norms_may_stay(unfused, fused):
    before, trained = unfused[1]
    (_, after), _ = fused(**{f'{FUSION}.norm_stats': 'keep'})
    keys = [key for key in after if 'running' in key]
    assert keys and all(
        torch.equal(after[key], trained[key]) for key in keys)
    assert not torch.equal(after['backbone.conv1.weight'],
                           trained['backbone.conv1.weight'])


def test_the_next_step_begins_and_is_taught_by_the_fused_network(fused):
    (_, one, two), record = fused(3, **{f'{FUSION}.share': 0})
    assert record.finished_steps == [0, 1, 2]
    assert all(torch.equal(two[key], value) for key, value in one.items()
               if value.is_floating_point())


def test_a_crash_after_the_fusion_fuses_no_second_time(unfused, fused,
                                                       tmp_path):
    hooks = [dict(type='mmseg_spwc.DiesAfterFusion')]
    options = {f'{FUSION}.importance': 'mmseg_spwc.MASImportance',
               'custom_hooks': hooks, 'work_dir': str(tmp_path)}
    with pytest.raises(Died):
        fused(**options)
    (_, again), _ = fused(**options, resume=True)
    options.update(custom_hooks=[], work_dir=str(tmp_path / 'whole'))
    (_, whole), _ = fused(**options)
    assert all(torch.equal(again[key], whole[key]) for key in whole)
    kept, expected = (torch.load(folder / 'step_01/importances.pth',
                                 weights_only=True)
                      for folder in (tmp_path, tmp_path / 'whole'))
    assert all(torch.equal(kept[key], expected[key]) for key in expected)


def test_steps_that_are_taken_from_start_from_stay(with_method, unfused):
    cfg = with_method()
    cfg.start_from = f'{unfused[0].work_dir}/step_01/final.pth'
    (zero, one), _ = train(cfg)
    for given, taken in zip(unfused[1], (zero, one), strict=True):
        assert all(torch.equal(given[key], taken[key]) for key in given)


def test_importances_give_every_weight_its_share(unfused, fused, tmp_path):
    before, trained = unfused[1]
    share = .5
    (_, after), _ = fused(work_dir=str(tmp_path), **{
        f'{FUSION}.share': share,
        f'{FUSION}.importance': 'mmseg_spwc.MASImportance'})
    kept = [torch.load(tmp_path / f'step_{s:02d}/importances.pth',
                       weights_only=True) for s in range(2)]
    key = 'backbone.conv1.weight'
    new = 2 * kept[1][key] - kept[0][key]  # F_0 / 2 + F_1 / 2 is kept
    part = new / (new + kept[0][key])
    assert part.std() > .01
    torch.testing.assert_close(
        after[key], before[key] + part * (trained[key] - before[key]))
    norm = 'backbone.bn1.running_mean'
    torch.testing.assert_close(after[norm], (before[norm] + trained[norm]) / 2)
    rows = 'decode_head.conv_seg.convs.1.weight'
    assert torch.equal(after[rows], trained[rows]) and rows in kept[1]


def test_spwc_decides_how_far_a_class_goes_back(with_method, fused):
    options = {'method.later.model.frozen': None}
    base = with_method(**options, **{FUSION: None})
    _, trained = train(base)[0]
    cfg = with_method(**options, **{
        'self_paced': dict(rule='linear', mu=.8),
        f'{FUSION}.type': 'mmseg_spwc.SelfPacedFusionHook'})
    cfg.start_from = f'{base.work_dir}/step_00/final.pth'
    (before, after), record = train(cfg)
    v = torch.tensor(record.step(1)['priority']['v'])
    part = .5 / (.5 + .5 * v / v.mean())
    assert part.std() > .01
    key = 'decode_head.conv_seg.convs.0.weight'
    torch.testing.assert_close(
        after[key], before[key] + part.view(-1, 1, 1, 1) * (
            trained[key] - before[key]), rtol=1e-4, atol=1e-6)


def test_a_share_is_where_both_penalties_are_least():
    generator = torch.Generator().manual_seed(0)
    new, old, v = torch.rand(
        3, 50, generator=generator, dtype=torch.float64)
    theta, a = torch.linspace(0, 1, 100_001).double()[:, None], .3
    cost = (1 - a) * v * old * theta**2 + a * new * (theta - 1)**2
    least = theta[cost.argmin(0)].flatten()
    part = share_of_parameter(a, new, old, v)
    torch.testing.assert_close(part, least, atol=2e-5, rtol=0)
    assert share_of_parameter(.3).item() == pytest.approx(.3)
    equal = share_of_parameter(.3, old, old, torch.ones_like(old))
    torch.testing.assert_close(equal, torch.full_like(old, .3))
    nobody = share_of_parameter(.3, torch.zeros(2), torch.zeros(2))
    assert nobody.tolist() == pytest.approx([.3, .3])


def test_branches_are_folded_before(with_method, unfused):
    cfg = with_method('rcil_ewf')
    (before, after), record = train(cfg)
    assert not any('.old.' in key for key in after)
    # the norm and its convolution are both on the line, not their product
    assert any(not torch.equal(before[k], after[k]) for k in before)


@pytest.mark.parametrize('options, says', [
    ({f'{FUSION}.share': 2}, 'fusion.share is 2: give a number'),
    ({f'{FUSION}.norm_stats': 'drop'}, "norm_stats is 'fuse' or 'keep'"),
    ({f'{FUSION}.importance': 'mmseg_spwc.SIImportance'},
     'measured when a step ends'),
    ({f'{FUSION}.type': 'mmseg_spwc.SelfPacedFusionHook'},
     'but they are frozen'),
    ({'method.every.model.rc': dict(init='carry')}, 'cannot be fused'),
])
def test_what_cannot_be_fused_is_said_before(with_method, options, says):
    cfg = with_method(**options)
    with pytest.raises(ConfigError, match=says):
        ContinualRunner(cfg).train()
    assert not Path(cfg.work_dir, 'step_00').exists()


def test_a_step_without_new_classes_needs_a_share():
    class Domains:
        num_new, carries = 0, False

    with pytest.raises(ConfigError, match='which would undo it'):
        WeightFusionHook().try_on(Domains)
    WeightFusionHook(share=.5).try_on(Domains)


def test_importances_of_step_0_are_asked_for_before_training(
        with_method, unfused):
    cfg = with_method('mib', **{
        'method.later.hooks.fusion': dict(
            type='mmseg_spwc.WeightFusionHook',
            importance='mmseg_spwc.MASImportance')})
    cfg.start_from = f'{unfused[0].work_dir}/step_00/final.pth'
    with pytest.raises(ConfigError, match='into method.every'):
        ContinualRunner(cfg).train()
    assert Record.read(cfg.work_dir).finished_steps == [0]
