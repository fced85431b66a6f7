"""A whole sequence on generated data, in process."""
import json
import shutil
from pathlib import Path

import pytest
import torch

from mmseg_spwc.engine import ContinualRunner
from mmseg_spwc.errors import CheckpointError, ConfigError
from mmseg_spwc.record import Record
from mmseg_spwc.runtime.checkpoint import load_step
from mmseg_spwc.visualization.tables import final_table


@pytest.fixture(scope='module')
def trained(config_in, tmp_path_factory):
    cfg = config_in(tmp_path_factory.mktemp('trained'))
    ContinualRunner(cfg).train()
    return Path(cfg.work_dir)


@pytest.fixture
def finished(trained, tiny_config):
    """A finished run of the test's own."""
    cfg = tiny_config()
    shutil.copytree(trained, cfg.work_dir)
    return cfg


def weights(work_dir, step):
    return load_step(f'{work_dir}/step_{step:02d}/final.pth')['state_dict']


def same(a, b):
    return a.keys() == b.keys() and all(torch.equal(a[k], b[k]) for k in a)


def test_every_step_is_trained_scored_and_recorded(finished):
    record = Record.read(finished.work_dir)
    assert record.finished_steps == [0, 1, 2]
    assert record.content['status'] == 'finished'
    assert [len(s['iou']) for s in record.steps] == [5, 8, 11]
    assert [len(s['kpi']['class']) for s in record.steps] == [5, 8, 11]
    assert [len(s['kpi']['step']) for s in record.steps] == [1, 2, 3]
    for step in record.steps:
        assert step['images']['train'] > 0 and step['images']['heldout'] > 0
        assert step['cost']['wall_time'] > 0
    assert record.steps[0]['miou']['new'] is None
    assert 'Finetune' in final_table([record])
    assert weights(finished.work_dir, 2)[
        'decode_head.conv_seg.convs.2.weight'].shape[0] == 3
    left = [p.name for p in Path(finished.work_dir, 'step_00').glob('*.pth')]
    assert left == ['final.pth']


def test_checkpoint_reproduces_the_recorded_scores(finished):
    record = Record.read(finished.work_dir)
    for step in (0, 2):
        path = f'{finished.work_dir}/step_{step:02d}/final.pth'
        scores = ContinualRunner(finished).test(path)
        recorded = record.step(step)
        assert scores == {key: recorded[key] for key in scores}


def test_same_seed_same_weights_other_seed_others(tiny_config, tmp_path):
    cfgs = [
        tiny_config(**{
            'work_dir': str(tmp_path / name),
            'randomness.seed': seed,
            'scenario.steps': [[1, 2, 3, 4, 5], [6, 7, 8, 9, 10]],
        }) for name, seed in (('a', 1), ('b', 1), ('c', 2))
    ]
    for cfg in cfgs:
        ContinualRunner(cfg).train()
    a, b, c = (weights(cfg.work_dir, 1) for cfg in cfgs)
    assert same(a, b) and not same(a, c)


def test_shared_first_step(finished, tiny_config, tmp_path):
    path = f'{finished.work_dir}/step_00/final.pth'
    cfg = tiny_config(work_dir=str(tmp_path / 'other'), start_from=path)
    ContinualRunner(cfg).train()
    assert same(weights(cfg.work_dir, 0), weights(finished.work_dir, 0))
    assert same(weights(cfg.work_dir, 2), weights(finished.work_dir, 2))
    first, other = (Record.read(c.work_dir).step(0)['iou']
                    for c in (finished, cfg))
    assert first == other


def test_start_from_must_know_the_classes_of_step_0(finished, tiny_config,
                                                    tmp_path):
    first = f'{finished.work_dir}/step_00/final.pth'
    cfg = tiny_config(**{
        'work_dir': str(tmp_path / 'third'),
        'start_from': first,
        'scenario.steps': [[1, 2, 3], [4, 5, 6, 7, 8, 9, 10]]})
    with pytest.raises(CheckpointError, match=(
            'knows star, which step 0 does not')):
        ContinualRunner(cfg).train()


def test_a_used_work_dir_is_refused_and_kept(finished, tiny_config):
    before = (Record.read(finished.work_dir)).content
    with pytest.raises(ConfigError, match='already holds a run'):
        ContinualRunner(tiny_config()).train()
    for change, what in (({'method.name': 'Other'}, 'method'),
                         ({'scenario.setting': 'disjoint'}, 'scenario'),
                         ({'randomness.seed': 7}, 'seed')):
        cfg = tiny_config(**change, resume=True)
        with pytest.raises(ConfigError, match=f'another {what}'):
            ContinualRunner(cfg).train()
    assert Record.read(finished.work_dir).content == before


def test_resuming_a_finished_run_changes_nothing(finished, tiny_config):
    before = json.dumps(Record.read(finished.work_dir).content)
    ContinualRunner(tiny_config(resume=True)).train()
    assert json.dumps(Record.read(finished.work_dir).content) == before


def test_foreign_checkpoint_is_refused(finished, tmp_path):
    torch.save(dict(state_dict={}), tmp_path / 'x.pth')
    with pytest.raises(CheckpointError, match='not the checkpoint'):
        ContinualRunner(finished).test(tmp_path / 'x.pth')
    finished.scenario.setting = 'disjoint'
    with pytest.raises(CheckpointError, match='another scenario'):
        ContinualRunner(finished).test(
            f'{finished.work_dir}/step_01/final.pth')


def test_joint_sees_everything_and_offline_trains_once(tiny_config, tmp_path):
    joint = tiny_config('configs/joint/joint_r18_shapes.py',
                        work_dir=str(tmp_path / 'joint'))
    joint.train_cfg.max_epochs = 1
    record = ContinualRunner(joint).train()
    images = [s['images']['train'] for s in record.steps]
    assert images[0] < images[1] <= images[2]
    offline = tiny_config('configs/joint/joint_r18_shapes.py',
                          work_dir=str(tmp_path / 'offline'))
    offline.method.run = 'last'
    offline.train_cfg.max_epochs = 1
    record = ContinualRunner(offline).train()
    assert record.finished_steps == [2]
    assert record.steps[0]['images']['train'] == images[2]
    # every image but the held-out ones, once each
    assert images[2] + record.steps[0]['images']['heldout'] == 96
    assert same(weights(joint.work_dir, 2), weights(offline.work_dir, 2))


@pytest.mark.parametrize('workers', [
    pytest.param(0, marks=pytest.mark.slow), 2])
def test_images_in_memory_change_nothing(trained, tiny_config, workers):
    cfg = tiny_config(**{
        'keep_decoded': .01, 'train_dataloader.num_workers': workers})
    record = ContinualRunner(cfg).train()
    for step in range(3):
        assert same(weights(cfg.work_dir, step), weights(trained, step))
    for ours, theirs in zip(
            record.steps, Record.read(trained).steps, strict=True):
        assert (ours['iou'], ours['kpi']) == (theirs['iou'], theirs['kpi'])


def test_branches_are_kept_as_trained_for_a_step_that_goes_on_with_them(
        tiny_config):
    cfg = tiny_config(leaf='configs/demo/rcil_shapes-6-1.py', **{
        'method.every.model.rc.init': 'carry', 'method.run': 'first',
        'train_cfg.max_epochs': 1})
    ContinualRunner(cfg).train()
    content = load_step(f'{cfg.work_dir}/step_00/final.pth')
    assert content['branches']
    merged = content['state_dict']
    assert any(not torch.equal(value, merged[name])
               for name, value in content['branches'].items())
