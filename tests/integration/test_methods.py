"""Every segmentation method runs a sequence, and spWC plugs into it."""
import pytest
import torch
from mmengine.config import Config

from mmseg_spwc.engine import ContinualRunner
from mmseg_spwc.record import Record
from mmseg_spwc.runtime.checkpoint import load_step
from mmseg_spwc.visualization.step_report import next_weights

METHODS = 'configs/_base_/methods'


@pytest.fixture
def with_method(tiny_config, tmp_path):

    def make(*names, **options):
        cfg = tiny_config(**{
            'scenario.steps': [[1, 2, 3, 4, 5], [6, 7, 8, 9, 10]],
            'train_cfg.max_epochs': 1,
            'schedule.later.train_cfg.max_epochs': 1,
        })
        for name in names:
            fragment = Config.fromfile(f'{METHODS}/{name}.py')
            for key, value in fragment.items():
                cfg[key] = value
        cfg.work_dir = str(tmp_path / '-'.join(names))
        cfg.merge_from_dict(options)
        return cfg

    return make


def final(cfg, step=1):
    return load_step(f'{cfg.work_dir}/step_{step:02d}/final.pth')


@pytest.mark.parametrize('name', [
    'lwf', 'lwf_mc', 'ilt', 'mib', 'plop', 'plop_compat', 'rcil',
    'rcil_compat', 'alife', 'reminder', 'ucd', 'dft',
    'mib_ewf', 'plop_ewf', 'lgkd', 'mib_lgkd', 'dkd', 'sdr', 'ssul',
    'ssul_m'
])
def test_method_runs_two_steps(with_method, name, no_bars):
    cfg = with_method(name)
    record = ContinualRunner(cfg).train()
    assert record.finished_steps == [0, 1]
    keys = final(cfg)['state_dict']
    assert not any('.old.' in key for key in keys)
    assert all(torch.isfinite(v).all() for v in keys.values()
               if v.is_floating_point())


@pytest.mark.parametrize('name, on', [
    ('mib', 'pixel'), ('plop', 'pixel'), ('rcil', 'pixel'), *(
        pytest.param(*pair, marks=pytest.mark.slow) for pair in (
            ('dft', 'pixel'), ('ssul', 'pixel'), ('dkd', 'both'),
            ('lgkd', 'both'), ('reminder', 'both'), ('sdr', 'both'),
            ('ucd', 'pixel'), ('mib_nest', 'pixel'), ('plop_ewf', 'both'),
            ('dkd_m', 'both'), ('mib_augm', 'pixel'), ('ssul_m', 'pixel')))])
def test_spwc_plugs_in(with_method, name, on):
    cfg = with_method(name, 'spwc', **{'self_paced.on': on})
    ContinualRunner(cfg).train()
    record = Record.read(cfg.work_dir)
    priority = record.step(1)['priority']
    assert priority['unit'] == 'class'
    assert len(priority['v']) == 6
    assert record.step(0)['priority'] is None
    # what the terminal said after step 0 is what step 1 did
    assert [v for _, v in next_weights(record, 0)] == priority['v']
    assert record.step(1)['self_paced'] is None


def test_spwc_with_every_weight_one_changes_no_bit(with_method):
    plain, paced = with_method('rcil'), with_method('rcil', 'spwc')
    paced.self_paced = dict(rule='hard', mu=1e9)
    for cfg in (plain, paced):
        ContinualRunner(cfg).train()
    a, b = (final(cfg)['state_dict'] for cfg in (plain, paced))
    assert all(torch.equal(a[key], b[key]) for key in a)
    v = Record.read(paced.work_dir).step(1)['priority']['v']
    assert v == [1.] * 6


def test_scores_can_be_measured_anew(with_method, monkeypatch):
    cfg = with_method('mib', 'spwc')
    cfg.schedule.later.train_cfg.max_epochs = 2
    cfg.self_paced = dict(rule='linear', mu=1., update=dict(epochs=1))
    with monkeypatch.context() as patch:  # the history is in the context
        patch.delattr(Record, 'read')
        ContinualRunner(cfg).train()
    record = Record.read(cfg.work_dir)
    # the last scores are those of the finished model
    assert record.step(1)['priority']['psi'] == \
        record.step(1)['kpi']['class'][:6]


def test_spwc_without_a_held_out_slice_is_explained(with_method):
    cfg = with_method('mib', 'spwc')
    cfg.heldout.ratio = 0
    with pytest.raises(ValueError, match='heldout.ratio'):
        ContinualRunner(cfg).train()


@pytest.mark.parametrize('name', ['ewc', 'mas'])
def test_consolidation_can_start_from_a_shared_step(with_method, name):
    base = with_method('finetune')
    ContinualRunner(base).train()
    cfg = with_method(name, 'spwc')
    cfg.start_from = f'{base.work_dir}/step_00/final.pth'
    cfg.self_paced = dict(rule='linear', mu=2.)
    record = ContinualRunner(cfg).train()
    assert record.step(1)['priority']['unit'] == 'step'
    assert record.step(0)['self_paced']['unit'] == 'step'
    assert len(record.step(1)['priority']['v']) == 1


def test_path_integrals_need_a_trained_first_step(with_method):
    base = with_method('finetune')
    ContinualRunner(base).train()
    cfg = with_method('si')
    cfg.start_from = f'{base.work_dir}/step_00/final.pth'
    with pytest.raises(ValueError, match='start_from'):
        ContinualRunner(cfg).train()


def test_a_shared_first_step_brings_its_branches(with_method, tmp_path,
                                                 capsys):
    whole = with_method('rcil_compat')
    ContinualRunner(whole).train()
    assert final(whole, 0)['branches']
    shared = with_method('rcil_compat')
    shared.work_dir = str(tmp_path / 'shared')
    shared.start_from = f'{whole.work_dir}/step_00/final.pth'
    ContinualRunner(shared).train()
    assert 'merged' not in capsys.readouterr().out
    for step in (0, 1):
        a, b = final(whole, step), final(shared, step)
        for part in ('state_dict', 'branches'):
            assert all(torch.equal(a[part][key], b[part][key])
                       for key in a[part] | b[part])


def test_a_shared_first_step_without_branches_is_told(with_method, capsys):
    base = with_method('finetune')
    cfg = with_method('rcil_compat')
    ContinualRunner(base).train()
    cfg.start_from = f'{base.work_dir}/step_00/final.pth'
    assert 'merged' not in capsys.readouterr().out
    ContinualRunner(cfg).train()
    said = capsys.readouterr().out
    assert said.count('so step 1 starts merged') == 1
    assert 'branches' not in final(cfg, 0)
