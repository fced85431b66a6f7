"""Sequences that replay: what is remembered, resumed and shared."""
import os
import signal
from pathlib import Path

import pytest
import torch
from digit_runs import digits
from forked_ranks import on_ranks
from mmengine.config import Config
from mmengine.hooks import Hook

from mmseg_spwc.config.step import scenario_of
from mmseg_spwc.datasets.labelled_images import (
    LabelledImages,
    replayed_images,
)
from mmseg_spwc.engine import ContinualRunner, step_config
from mmseg_spwc.errors import Preempted
from mmseg_spwc.memory import Replay
from mmseg_spwc.record import Record
from mmseg_spwc.registry import HOOKS
from mmseg_spwc.runtime.checkpoint import load_step
from mmseg_spwc.visualization.tables import final_table

METHODS = 'configs/_base_/methods'
REPLAY = 'method.later.train_dataloader.dataset.replay'
PACED = dict(rule='linear', mu=1., on='replay', update=dict(epochs=1))


@HOOKS.register_module(force=True)
class StopAt(Hook):
    """Asks the process to stop, inside the second epoch of step 1."""

    def after_train_iter(self, runner, batch_idx, data_batch=None,
                         outputs=None):
        if runner.work_dir.endswith('step_01') and \
                runner.iter == len(runner.train_dataloader) + 2:
            os.kill(os.getpid(), signal.SIGTERM)


@pytest.fixture
def with_memory(tiny_config, tmp_path):

    def make(folder, method='mib_augm', **options):
        cfg = tiny_config()
        cfg.method = Config.fromfile(f'{METHODS}/{method}.py').method
        cfg.work_dir = str(tmp_path / folder)
        cfg.merge_from_dict({f'{REPLAY}.size': 12, **options})
        return cfg

    return make


def train(cfg):
    return ContinualRunner(cfg).train()


def weights(cfg, step=2):
    path = f'{cfg.work_dir}/step_{step:02d}/final.pth'
    return load_step(path)['state_dict']


def same(a, b):
    return all(torch.equal(a[key], b[key]) for key in a | b)


def test_a_sequence_remembers_what_the_pure_function_says(with_memory):
    cfg = with_memory('whole')
    record = train(cfg)
    scenario = scenario_of(cfg)
    assert record.step(0)['replay'] is None
    assert 'replay' not in record.step(0)['images']
    for step in (1, 2):
        out = step_config(cfg, scenario, step).train_dataloader
        images = LabelledImages(out.dataset.dataset, scenario)
        memory = replayed_images([images], scenario, step,
                                 out.dataset.heldout,
                                 Replay.of(out.dataset.replay))
        entry = record.step(step)
        assert entry['replay']['names'] == [s.name for s in memory]
        assert entry['images']['replay'] == len(memory) > 0
        assert out.sampler.type == 'mmseg_spwc.ReplaySampler'
    assert record.content['summary']['replayed'] <= 12
    assert 'kept' in final_table([record]).splitlines()[0]
    # a shared step 0 leaves the same memory, and the same network
    other = with_memory(
        'other', start_from=f'{cfg.work_dir}/step_00/final.pth')
    shared = train(other)
    assert [s['replay'] for s in shared.steps] == [
        s['replay'] for s in record.steps]
    assert same(weights(cfg), weights(other))


def test_a_stopped_sequence_replays_the_same(with_memory):
    """Weights are renewed after every epoch, and the stop is inside one."""
    whole, broken = (with_memory(name, self_paced=PACED)
                     for name in ('whole', 'broken'))
    train(whole)
    stopped = with_memory('broken', self_paced=PACED, custom_hooks=[
        dict(type='mmseg_spwc.StopAt')])
    with pytest.raises(Preempted):
        train(stopped)
    broken.resume = True
    train(broken)
    for step in range(3):
        assert same(weights(whole, step), weights(broken, step))
    entries = [[(s['replay'], s['priority'], s['kpi'], s['iou'])
                for s in Record.read(cfg.work_dir).steps]
               for cfg in (whole, broken)]
    assert entries[0] == entries[1]


def test_drawing_is_without_effect_on_what_is_not_replayed(with_memory):
    """With all weights 0 the draws are uniform, and the record says so."""
    cfg = with_memory('none', self_paced=dict(rule='hard', k=0, on='replay'))
    record = train(cfg)
    assert set(record.step(1)['priority']['v']) == {0.}
    assert record.step(1)['priority']['unit'] == 'class'


@pytest.mark.parametrize(('method', 'mix'), [
    ('finetune_memory', .25), ('dkd_m', 'append')])
def test_methods_with_a_memory(with_memory, method, mix):
    cfg = with_memory('run', method, **{f'{REPLAY}.mix': mix})
    record = train(cfg)
    assert record.finished_steps == [0, 1, 2]


def test_two_ranks_replay_as_one(tmp_path):
    one, two = (
        digits(tmp_path / name, 'er', launcher=launcher,
               self_paced=dict(PACED, mu=3.), **{f'{REPLAY}.size': 30})
        for name, launcher in (('one', 'none'), ('two', 'pytorch')))
    train(one)
    assert on_ranks(tmp_path / 'meet', train, two) == ['done', 'done']
    for step in range(3):
        a, b = weights(one, step), weights(two, step)
        for key in a:
            torch.testing.assert_close(a[key], b[key], atol=1e-4, rtol=1e-4)
    records = [Record.read(cfg.work_dir) for cfg in (one, two)]
    for a, b in zip(*(r.steps for r in records), strict=True):
        assert a['replay'] == b['replay'] and a['images'] == b['images']
    assert records[0].step(2)['priority']['unit'] == 'step'
    assert records[0].step(2)['replay']['bytes'] == 30 * 32 * 32
    assert not Path(two.work_dir, 'run.lock').exists()


@pytest.mark.parametrize(('options', 'what'), [
    ({f'{REPLAY}.policy': 'herding'}, 'replay.policy'),
    ({f'{REPLAY}.sise': 3}, "no option 'sise'"),
    ({f'{REPLAY}.mix': .01}, 'larger batches'),
    ({'method.later.train_dataloader.dataset.cumulative': True},
     'trained together'),
    ({'self_paced': dict(rule='hard', k=1, on='replay',
                         update=dict(iters=2))}, r'update=dict\(epochs=N\)'),
    ({REPLAY: None, 'self_paced': dict(rule='hard', k=1, on='replay')},
     'needs a method with a memory'),
    ({'train_dataloader.sampler.type': 'InfiniteSampler'}, 'DefaultSampler'),
])
def test_what_cannot_be_replayed_is_told_before_training(with_memory,
                                                         options, what):
    cfg = with_memory('run', **options)
    with pytest.raises(ValueError, match=what):
        train(cfg)
    assert not Path(cfg.work_dir, 'step_00').exists()


def test_a_memory_that_is_not_full_is_told(with_memory, capsys):
    cfg = with_memory('run', **{f'{REPLAY}.size': 900})
    cfg.method.run = 'first'
    train(cfg)
    assert 'a memory of 900' not in capsys.readouterr().out
    cfg = with_memory('more', **{f'{REPLAY}.size': 900})
    train(cfg)
    assert 'samples for a memory of 900' in capsys.readouterr().out
    # images of the step itself are not missing
    train(with_memory('full'))
    assert 'samples for a memory' not in capsys.readouterr().out
