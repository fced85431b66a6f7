"""From a command line to a config: what wins, and where a run goes."""
import sys
from argparse import Namespace
from pathlib import Path

import pytest

from mmseg_spwc.config.load import load_config, read_config
from mmseg_spwc.config.step import scenario_of, step_config
from mmseg_spwc.errors import ConfigError

CONFIGS = Path(__file__).resolve().parents[2] / 'configs'
MIB = 'mib/mib_deeplabv3-r101-d16_voc12aug-512x512.py'
RCIL = 'rcil/rcil_deeplabv3-r101-d16_voc12aug-512x512.py'
CITIES = 'plop/plop_deeplabv3-r101-d16_cityscapes-domain-512x512.py'
CIFAR = 'classification/ewc/ewc_small-vgg_cifar100.py'
KD = 'method.later.model.losses.kd.loss_weight'
LR = 'optim_wrapper.optimizer.lr'


def load(leaf: str, scenario=None, setting=None, work_dir=None, **options):
    return load_config(Namespace(
        config=str(CONFIGS / leaf), scenario=scenario, setting=setting,
        work_dir=work_dir,
        cfg_options={k.replace('__', '.'): v for k, v in options.items()}))


def step(cfg, number: int = 1):
    return step_config(cfg, scenario_of(cfg), number)


@pytest.mark.parametrize('leaf, scenario, setting, folder', [
    (MIB, None, None, '15-1-overlapped'),
    (MIB, '10-1', 'disjoint', '10-1-disjoint'),
    (MIB, '15-5s', None, '15-1-overlapped'),
    (CITIES, '1-1', None, '1-1'),
    (CIFAR, None, None, '10x10-task'),
    (CIFAR, '20x5', None, '20x5-task'),
    ('demo/finetune_shapes-6-1.py', None, None, '6-1-overlapped'),
])
def test_a_run_s_folder_names_scenario_and_setting(
        leaf, scenario, setting, folder):
    cfg = load(leaf, scenario, setting)
    assert cfg.work_dir == f'work_dirs/{Path(leaf).stem}/{folder}'
    assert cfg.experiment_name == f'{Path(leaf).stem}_{folder}'


def test_a_folder_that_is_given_is_taken():
    assert load(MIB, work_dir='here').work_dir == 'here'
    assert load(MIB, work_dir='here').work_dir == 'here'


def test_short_and_long_options_say_the_same():
    short = load(MIB, '10-1', 'disjoint')
    long = load(MIB, **{'scenario.name': '10-1',
                        'scenario.setting': 'disjoint'})
    assert short.to_dict() == long.to_dict()


@pytest.mark.parametrize('name, weight', [('15-1', 100), ('10-1', 10)])
def test_the_scenario_chooses_a_row_and_options_win_over_it(name, weight):
    cfg = load(MIB, name)
    assert step(cfg).model.losses.kd.loss_weight == weight
    cfg = load(MIB, name, **{KD: 7})
    assert step(cfg).model.losses.kd.loss_weight == 7


@pytest.mark.parametrize('name', ['15-1', '10-1'])
@pytest.mark.parametrize('line', [
    'kd=dict(loss_weight=50.)', "kd=dict(_delete_=True, type='x', "
    'loss_weight=50.)'])
@pytest.mark.parametrize('leaf', [MIB, RCIL])
def test_what_a_file_that_inherits_sets_wins(tmp_path, leaf, line, name):
    own = tmp_path / 'own.py'
    own.write_text(
        f"_base_ = '{CONFIGS / leaf}'\n"
        f'method = dict(later=dict(model=dict(losses=dict({line}))))\n')
    assert step(load(str(own), name)).model.losses.kd.loss_weight == 50
    cfg = load(str(own), name, **{KD: 7})
    assert step(cfg).model.losses.kd.loss_weight == 7


def test_an_option_of_a_row_wins_too():
    row = f'{KD}.by_scenario.voc 15-1'
    assert step(load(MIB, **{row: 7})).model.losses.kd.loss_weight == 7
    assert step(load(MIB, '10-1', **{row: 7})
                ).model.losses.kd.loss_weight == 10


def test_what_a_scenario_leaves_out_takes_no_options(tmp_path):
    leaf = 'rcil/rcil_deeplabv3-r101-d16_cityscapes-domain-512x512.py'
    with pytest.raises(ConfigError, match=(
            "losses.kd is None by the row 'cityscapes_domain' of its table, "
            'so loss_weight cannot')):
        load(leaf, **{KD: 7})


@pytest.mark.parametrize('options, launcher, resume', [
    ({}, 'none', False),
    (dict(launcher='slurm', resume=True), 'slurm', True)])
def test_launcher_and_resume_of_a_config_count(options, launcher, resume):
    cfg = load(MIB, **options)
    assert (cfg.launcher, cfg.resume) == (launcher, resume)
    cfg = load_config(Namespace(
        config=str(CONFIGS / MIB), cfg_options=options, launcher='pytorch',
        resume=True))
    assert (cfg.launcher, cfg.resume) == ('pytorch', True)


def test_an_option_that_a_table_would_swallow_is_refused():
    with pytest.raises(ConfigError, match=f'Set method.first.{LR}, schedule'):
        load(RCIL, **{LR: 0.1})
    cfg = load(RCIL, **{f'method.first.{LR}': 0.1})
    assert step(cfg, 0).optim_wrapper.optimizer.lr == 0.1
    cfg = load(MIB, **{LR: 0.1})  # the first step takes it
    assert step(cfg, 0).optim_wrapper.optimizer.lr == 0.1


@pytest.mark.parametrize('leaf, scenario, setting, message', [
    (MIB, '15-11', None, "Unknown scenario of voc '15-11'. Did you mean"),
    (MIB, None, 'disjont', "Did you mean 'disjoint'. Known: overlapped"),
    (CIFAR, '3x3', None, "Unknown scenario of cifar100 '3x3'.*10x10, 20x5"),
    (CIFAR, None, 'disjoint', "Unknown scenario keyword 'setting'"),
])
def test_wrong_scenarios_are_told_with_the_known_ones(
        leaf, scenario, setting, message):
    with pytest.raises(ConfigError, match=message):
        load(leaf, scenario, setting)


def test_steps_of_one_s_own_are_not_chosen_by_name(tmp_path):
    leaf = tmp_path / 'own.py'
    leaf.write_text(
        f"_base_ = '{CONFIGS / MIB}'\n"
        'scenario = dict(name=None, steps=[[*range(1, 20)], [20]])\n')
    assert load(str(leaf)).work_dir == 'work_dirs/own/custom-overlapped'
    with pytest.raises(ConfigError, match='take scenario.steps out'):
        load(str(leaf), '15-1')


def test_a_missing_config_has_neighbours():
    for old, near in (
            ('mib/mib_deeplabv3-r101-d16_b24-30e_voc12aug-15-1-dis-512x512',
             MIB),
            ('rcil/rcil_deeplabv3-mobilenetv2-d16_b16-20e_voc128-15-1-ov',
             'rcil/rcil_deeplabv3-mobilenetv2-d16_voc12aug-128x128.py'),
            ('classification/ewc/ewc_small-vgg_cifar100-10x10', CIFAR),
            ('mibb/mib_deeplabv3-r101-d16_voc12aug-512x512', MIB)):
        with pytest.raises(ConfigError, match='no config at') as error:
            load(f'{old}.py')
        assert near in str(error.value)
        assert 'chosen with --scenario and --setting' in str(error.value)
    with pytest.raises(ConfigError, match=r'no config at nowhere/x.py\.$'):
        load_config(Namespace(config='nowhere/x.py'))


def test_bases_that_import_modules_of_their_own_go_together(tmp_path):
    (tmp_path / 'c.py').write_text(
        "_base_ = ['mmseg::_base_/models/upernet_convnext.py',\n"
        f"          '{CONFIGS}/_base_/default_runtime.py']\n")
    cfg = read_config(str(tmp_path / 'c.py'))
    assert cfg.model.backbone.type == 'mmpretrain.ConvNeXt'
    assert cfg.custom_imports == dict(
        imports=['mmpretrain.models', 'mmseg_spwc'],
        allow_failed_imports=False)


def test_own_modules_are_found_in_the_folder_one_starts_in(tmp_path,
                                                          monkeypatch):
    (tmp_path / 'a_loss_of_mine.py').write_text('FOUND = True\n')
    (tmp_path / 'c.py').write_text(
        "custom_imports = dict(imports='a_loss_of_mine')\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, 'path', list(sys.path))
    read_config('c.py')
    assert sys.modules.pop('a_loss_of_mine').FOUND


def test_a_plain_config_with_a_scenario_is_a_sequence(tmp_path):
    (tmp_path / 'mine.py').write_text(
        "_base_ = ['mmseg::_base_/models/fcn_r50-d8.py',\n"
        "          'mmseg_spwc::_base_/methods/mib.py']\n"
        "scenario = dict(dataset='shapes', name='6-1')\n")
    cfg = load_config(Namespace(config=str(tmp_path / 'mine.py')))
    assert cfg.runner_type == 'mmseg_spwc.ContinualRunner'
    cfg = load_config(Namespace(config=str(tmp_path / 'mine.py'), cfg_options={
        'runner_type': 'mmseg_spwc.ContinualRunner'}))
    with pytest.raises(ConfigError, match='give it a scenario and a method'):
        load_config(Namespace(config=str(
            CONFIGS / '_base_/models/deeplabv3_r101-d16.py')))
