"""ALIFE-M runs a sequence, and its stages do what they say."""
from pathlib import Path

import pytest
import torch
from mmengine.config import Config
from mmengine.runner import Runner

from mmseg_spwc.config.step import step_config
from mmseg_spwc.engine import ContinualRunner, sequence
from mmseg_spwc.engine.hooks import FeatureReplayHook
from mmseg_spwc.engine.hooks.feature_replay_hook import read_memory
from mmseg_spwc.errors import ConfigError
from mmseg_spwc.models.feature_replay import FeatureMemory
from mmseg_spwc.runtime.checkpoint import load_step
from mmseg_spwc.scenario import get_scenario
from mmseg_spwc.utils.files import write_tensors

METHODS = Path('configs/_base_/methods')
HOOK = 'method.every.hooks.feature_replay'


@pytest.fixture
def alife_m(tiny_config, tmp_path):

    def make(name='run', **options):
        cfg = tiny_config(**{
            'train_cfg.max_epochs': 1,
            'schedule.later.train_cfg.max_epochs': 1,
        })
        cfg.method = Config.fromfile(METHODS / 'alife_m.py').method
        cfg.work_dir = str(tmp_path / name)
        cfg.merge_from_dict({
            f'{HOOK}.memory_size': 6,
            f'{HOOK}.rotation.epochs': 1,
            f'{HOOK}.classifier.lr': 0.1,
            **options
        })
        return cfg

    return make


def memory_of(cfg, step):
    return torch.load(
        f'{cfg.work_dir}/step_{step:02d}/feature_memory.pth',
        weights_only=True)


def weights_of(cfg, step):
    return load_step(
        f'{cfg.work_dir}/step_{step:02d}/final.pth')['state_dict']


def test_a_sequence_remembers_and_repeats_itself(alife_m, monkeypatch):
    cfg = alife_m()
    trained = []
    monkeypatch.setattr(
        FeatureReplayHook, 'after_train',
        _keeping(FeatureReplayHook.after_train, trained))
    monkeypatch.setattr(sequence, 'remove_resume_points', lambda folder: None)
    record = ContinualRunner(cfg).train()
    assert record.finished_steps == [0, 1, 2]

    # the memory grows by the new classes, without the background
    classes = [memory_of(cfg, t)['classes'].tolist() for t in range(3)]
    assert classes == [[1, 2, 3, 4], list(range(1, 8)), list(range(1, 11))]
    assert memory_of(cfg, 2)['features'].shape == (10, 6, 48)
    # and its old part is carried over
    assert not torch.equal(memory_of(cfg, 1)['features'][0],
                           memory_of(cfg, 0)['features'][0])

    # the stages change the classifiers and nothing else
    for step, before in enumerate(trained):
        after = weights_of(cfg, step)
        changed = {k for k in after if not torch.equal(after[k], before[k])}
        expected = {k for k in after if 'decode_head.conv_seg' in k}
        assert changed == (expected if step else set())

    _crash_in_last_step_and_resume(cfg)

    # a shared step 0 is remembered as one that was trained here
    other = alife_m('second', start_from=f'{cfg.work_dir}/step_00/final.pth')
    ContinualRunner(other).train()
    assert torch.equal(memory_of(other, 0)['features'],
                       memory_of(cfg, 0)['features'])


def _keeping(after_train, kept):

    def wrapper(self, runner):
        kept.append(
            {k: v.clone() for k, v in runner.model.state_dict().items()})
        after_train(self, runner)

    return wrapper


def _crash_in_last_step_and_resume(cfg):
    memory, weights = memory_of(cfg, 2), weights_of(cfg, 2)
    again = step_config(cfg, ContinualRunner(cfg).scenario, 2)
    again.resume = True  # no epoch is left: only the stages run again
    again.experiment_name = again.visualizer.name = 'again'
    Path(again.work_dir, 'feature_memory.pth').unlink()
    runner = Runner.from_cfg(again)
    runner.train()
    assert runner.iter == len(runner.train_dataloader)
    assert torch.equal(memory_of(cfg, 2)['features'], memory['features'])
    state = runner.model.state_dict()
    assert all(torch.equal(state[k], weights[k]) for k in weights)


def test_a_memory_that_does_not_fit_is_explained(tmp_path):
    path = tmp_path / 'feature_memory.pth'
    with pytest.raises(ConfigError, match='Train step 0 with this method'):
        read_memory(path, 3)
    memory = FeatureMemory(3)
    write_tensors(path, memory.state_dict())
    with pytest.raises(ConfigError, match='Lower min_region'):
        read_memory(path, 3)
    memory.add(1, torch.ones(2, 4))
    write_tensors(path, memory.state_dict())
    with pytest.raises(ConfigError, match='memory_size is 5'):
        read_memory(path, 5)
    assert torch.equal(read_memory(path, 3).stacked(), torch.ones(1, 3, 4))


@pytest.mark.parametrize(('options', 'what'), [
    (dict(min_region=1.), 'min_region'),
    (dict(memory_size=0), 'size=0'),
    (dict(rotation=dict(mix=2.)), 'rotation.mix'),
    (dict(classifier=dict(mem=-1.)), 'classifier.mem'),
])
def test_bad_settings_are_refused(options, what):
    with pytest.raises(ValueError, match=what):
        FeatureReplayHook(**options)


@pytest.mark.parametrize(('dataset', 'name', 'mix', 'ali', 'mem'), [
    ('voc', '19-1', 0.95, [1], [1]),
    ('voc', '15-5', 0.95, [1], [10]),
    ('voc', '15-1', 0.99, [3, 5, 2, 3, 1], [1, 20, 1, 2, 1]),
    ('ade', '100-50', 0.99, [0], [0.5]),
    ('ade', '50-50', 0.99, [0, 0], [0.1, 0.5]),
    ('ade', '100-10', 0.99, [5, 5, 2, 0, 0], [2, 1, 1, 0.1, 0.5]),
])
def test_published_factors(tiny_config, dataset, name, mix, ali, mem):
    cfg = tiny_config()
    cfg.method = Config.fromfile(METHODS / 'alife_m.py').method
    scenario = get_scenario(dataset, name)
    assert scenario.num_steps == len(ali) + 1
    for step, (a, m) in enumerate(zip(ali, mem, strict=True), 1):
        hooks = step_config(cfg, scenario, step).custom_hooks
        options = next(
            dict(h) for h in hooks
            if h.pop('type') == 'mmseg_spwc.FeatureReplayHook')
        hook = FeatureReplayHook(**options)
        assert (hook.classifier.ali, hook.classifier.mem) == (a, m)
        assert hook.rotation.mix == mix
        assert hook.memory.size == 1000
