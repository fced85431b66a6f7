"""What is decided and found wrong before a sweep begins."""
import argparse
import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from mmengine.config import Config
from small_sweeps import ROOT, STRENGTH, leaf, write_sweep

from mmseg_spwc.config.load import load_config
from mmseg_spwc.engine import ContinualRunner
from mmseg_spwc.engine.open_record import config_hash
from mmseg_spwc.errors import ConfigError
from mmseg_spwc.sweep.driver import make_job, write_config
from mmseg_spwc.sweep.estimate import describe, memory_of_gpus
from mmseg_spwc.sweep.plan import first_step_key, prepare
from mmseg_spwc.sweep.sweep_file import read_sweep


@pytest.fixture
def plan(tmp_path):

    def make(**names):
        return prepare(read_sweep(write_sweep(tmp_path / 's.py', **names)))

    return make


def all_of(*names, **special):
    return {**{n: leaf(n) for n in names}, **special}


def test_which_methods_share_step_0(plan):
    """SI watches the training, BLIP and LwF train otherwise, and Joint too.
    """
    found = plan(methods=all_of(
        'finetune', 'mas', 'ewc-spwc', 'si', 'blip', 'lwf', 'joint',
        ewc=dict(config=leaf('ewc'), grid={STRENGTH: [1., 2.]})))
    (key, ) = found.work.first_steps
    sharing = {n for n, k in found.work.start_from.items() if k == key}
    assert sharing == {
        'finetune_2_seed0', 'mas_2_seed0', 'ewc-spwc_2_seed0',
        'ewc_2_strength=1_seed0', 'ewc_2_strength=2_seed0'}


def demo_key(name, **options):
    return first_step_key(load_config(argparse.Namespace(
        config=str(ROOT / f'configs/demo/{name}_shapes-6-1.py'),
        work_dir='w', cfg_options=options)))


def test_which_segmentors_share_step_0():
    """RCIL doubles convolutions at step 0; in one form it goes on with them.
    """
    carry = {'method.every.model.rc.init': 'carry'}
    assert demo_key('finetune') == demo_key('mib')
    assert demo_key('finetune') != demo_key('rcil') is not None
    assert demo_key('rcil', **carry) is None


def test_what_changes_step_0_is_not_shared(plan):
    found = plan(methods=dict(
        a=dict(config=leaf('finetune'),
               grid={'optim_wrapper.optimizer.lr': [0.1, 0.2]}),
        b=dict(config=leaf('ewc'), grid={
            'optim_wrapper.optimizer.lr': [0.2]})), seeds=[0, 1])
    assert len(found.work.first_steps) == 2  # one for each seed
    assert sorted(found.work.start_from) == [
        'a_2_lr=0.2_seed0', 'a_2_lr=0.2_seed1', 'b_2_lr=0.2_seed0',
        'b_2_lr=0.2_seed1']


def test_scenarios_that_begin_alike_share_step_0(plan):
    found = plan(methods=all_of('finetune'), scenarios=['2', '3'])
    assert len(found.work.first_steps) == 1
    assert len(found.work.start_from) == 2


def test_only_the_last_step_is_trained(plan):
    found = plan(methods=dict(
        once=dict(config=leaf('joint'), cfg_options={'method.run': 'last'}),
        again=dict(config=leaf('joint'), cfg_options={
            'method.run': 'last', 'method.name': 'x'})))
    assert found.work.first_steps == {} and len(found.work.trials) == 2


def test_borrowed_step_0(plan):
    found = plan(methods=all_of(
        'finetune', lwf=dict(config=leaf('lwf'), step_0='finetune')))
    assert len(found.work.first_steps) == 1
    assert set(found.work.start_from) == {'finetune_2_seed0', 'lwf_2_seed0'}


def test_trials_run_what_the_file_says(plan, tmp_path):
    found = plan(
        methods=dict(ewc=dict(config=leaf('ewc'), grid={STRENGTH: [3., 7.]})),
        scenarios=['3', dict(name='2', seed=5)], seeds=[4])
    cfg = found.configs['ewc_2-5_strength=7_seed4']
    assert cfg.method.every.hooks.consolidation.strength == 7
    assert cfg.randomness.seed == 4 and cfg.scenario.seed == 5
    assert ContinualRunner(cfg).scenario.num_steps == 2
    assert cfg.model.backbone.hidden == (24, 24)
    assert set(found.iterations['ewc_3_strength=3_seed4']) == {0, 1, 2}
    path = tmp_path / 'config.py'
    write_config(cfg, path)
    assert Config.fromfile(path).to_dict() == cfg.to_dict()
    again = load_config(argparse.Namespace(config=str(path)))
    assert config_hash(again) == config_hash(cfg)


def test_a_run_of_another_config_is_not_taken_for_done(plan, tmp_path):
    methods = all_of('finetune')
    found = plan(methods=methods)
    cfg = found.configs['finetune_2_seed0']
    record = ContinualRunner(cfg).train()
    assert plan(methods=methods).work.trials == []
    with pytest.raises(ConfigError, match='a run of another config'):
        plan(methods=methods, cfg_options={'total_batch_size': 32})
    path = found.folder_of('finetune_2_seed0') / 'record.json'
    record.content['status'] = 'running'
    path.write_text(json.dumps(record.content))
    assert plan(methods=methods).work.trials == ['finetune_2_seed0']


@pytest.mark.parametrize('names, message', [
    (dict(methods=dict(ewc=dict(config=leaf('ewc'), grid={
        'method.every.hooks.consolidation.strenth': [1., 2.]}))),
     'ewc_2_strenth=1_seed0: The grid varies .*which .* does not have .did '
     "you mean 'method.every.hooks.consolidation.strength'"),
    (dict(methods=all_of('finetune'), grid={'custom_hooks.0.type': ['x']}),
     'The grid varies'),
    (dict(methods=all_of('ewc'), grid={STRENGTH: ['much']}),
     "ewc_2_strength=much_seed0: .*strength is 'much': give a number"),
    (dict(methods=all_of('finetune'), scenarios=['2', '-3']),
     'finetune_-3_seed0: scenario'),
    (dict(methods=all_of('finetune'), select='held-out mIoU'),
     'but the problem is classification'),
    (dict(methods=all_of('finetune'), cfg_options={'heldout.ratio': 0.}),
     'select needs scores on a held-out slice'),
    (dict(methods=all_of('finetune'), cfg_options={'start_from': 'x.pth'}),
     'finetune_2_seed0: start_from is x.pth, but there is no such file'),
])
def test_mistakes_are_found_at_once(plan, names, message):
    with pytest.raises(ConfigError, match=message):
        plan(**names)


def test_missing_data_are_named(plan, tmp_path):
    config = ROOT / 'configs/demo/finetune_shapes-6-1.py'
    with pytest.raises(ConfigError) as told:
        plan(methods=dict(a=leaf('finetune'), b=dict(
            config=str(config), cfg_options={
                'data_root': str(tmp_path / 'nowhere'),
                'train_dataloader.dataset.generate': None,
                'test_dataloader.dataset.generate': None})),
             scenarios=[{}], select=None, cfg_options={})
    assert str(told.value).startswith('b_seed0: data: ')
    assert 'nowhere' in str(told.value)


def test_dry_run(plan):
    text = describe(plan(methods=all_of('finetune', 'ewc')), cpus=3)
    first, one, two, _, total = text.splitlines()
    assert first.startswith('step 0 ') and 'shared' in first
    assert one.split()[0] == 'finetune_2_seed0' and 'step 0 of' in one
    assert two.split()[0] == 'ewc_2_seed0'
    assert total.startswith('2 of 2 trials to run, 3 at a time')
    assert 'timed here' in total


def test_memory_of_gpus(plan):
    methods = all_of('finetune', ewc=dict(
        config=leaf('ewc'), grid={STRENGTH: [1., 2.]}))
    one, two = memory_of_gpus(plan(
        methods=methods, resources=dict(gpus=1))).splitlines()
    assert one.startswith('finetune 2: memory of a GPU: ')
    assert two.startswith('ewc 2: memory of a GPU: ')
    assert 'not known' in one or one.split()[1:] != two.split()[1:]
    assert memory_of_gpus(plan(methods=methods)) == ''


def test_dry_run_of_a_finished_sweep(plan):
    found = plan(methods=all_of('finetune'))
    ContinualRunner(found.configs['finetune_2_seed0']).train()
    text = describe(plan(methods=all_of('finetune', 'ewc')))
    one, two, _, total = text.splitlines()
    assert one.split() == ['finetune_2_seed0', 'finished']
    assert 'step 0 of finetune_2_seed0' in two
    assert total.startswith('1 of 2') and 'steps that are done' in total


def test_a_job_trains_the_written_config(tmp_path, monkeypatch):
    monkeypatch.setenv('MMSEG_SPWC_DATA', '/datasets')
    monkeypatch.chdir(tmp_path)
    cfg = Config(dict(seed=(1, 2), start_from='first/final.pth'))
    sweep = SimpleNamespace(gpus=0, cpus=4)
    job = make_job(cfg, Path('trial'), sweep)
    script, config, resume = job.pop('command')
    assert Path(script).samefile(ROOT / 'tools/train.py')
    assert (config, resume) == (f'{tmp_path}/trial/config.py', '--resume')
    assert job['folder'] == f'{tmp_path}/trial' and job['cwd'] == str(tmp_path)
    assert job['env']['OMP_NUM_THREADS'] == '4'
    assert job['env']['MMSEG_SPWC_DATA'] == '/datasets'
    assert Config.fromfile(config).to_dict() == dict(
        seed=(1, 2), start_from=f'{tmp_path}/first/final.pth',
        work_dir=f'{tmp_path}/trial')
    sweep.gpus = 2
    command = make_job(cfg, Path('trial'), sweep)['command']
    assert command[:4] == ['-m', 'torch.distributed.run', '--standalone',
                           '--nproc_per_node=2']
    assert command[-2:] == ['--launcher', 'pytorch']
