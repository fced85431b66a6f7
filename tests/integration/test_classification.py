"""Every method on permuted digits, from the first task to the record."""
import functools
import hashlib
import math

import numpy as np
import pytest
from digit_runs import (
    CONFIGS,
    LEAVES,
    digits,
    same,
    train,
    weights,
)
from mmengine.config import Config
from safetensors.torch import load_file
from sklearn.datasets import load_digits

from mmseg_spwc.engine import ContinualRunner
from mmseg_spwc.errors import ConfigError
from mmseg_spwc.visualization.tables import final_table

TRAIN, HELDOUT, TEST = 1150, 288, 359  # of 1797 digits


@pytest.fixture(scope='module')
def run(tmp_path_factory):
    """Train a leaf once; return its config and record."""

    @functools.cache
    def once(method, **options):
        cfg = digits(tmp_path_factory.mktemp(method) / 'run', method,
                     **{k.replace('__', '.'): v for k, v in options.items()})
        return cfg, train(cfg)

    return once


def held_out_digits(seed: int) -> list:
    """The images held out of the digits' training part, by their labels."""
    labels = load_digits().target
    test = np.concatenate([drawn(labels, c, 0, 0.2) for c in range(10)])
    labels = labels[np.setdiff1d(np.arange(1797), test)]
    return sorted(np.concatenate(
        [drawn(labels, c, seed, 0.2) for c in range(10)]).tolist())


def drawn(labels: np.ndarray, c: int, seed: int, ratio: float) -> np.ndarray:
    members = np.flatnonzero(labels == c)
    sizes = np.bincount(labels) * ratio
    lost = sizes - np.floor(sizes)
    extra = round(sizes.sum()) - int(np.floor(sizes).sum())
    rounded_up = c in np.argsort(-lost, kind='stable')[:extra]
    lots = np.random.default_rng((seed, c)).permutation(len(members))
    return members[lots[:int(sizes[c]) + rounded_up]]


@pytest.mark.parametrize('method', [m for m in LEAVES if m != 'joint-once'])
def test_a_leaf_runs_to_the_end(run, method):
    cfg, record = run(method)
    assert record.content['status'] == 'finished'
    assert record.finished_steps == [0, 1, 2]
    for step, entry in enumerate(record.steps):
        check_entry(entry, step, joint=method == 'joint',
                    replay=method == 'er')
        assert (entry['priority'] is not None) == (
            'spwc' in method and step > 0)
        assert entry['consolidation'] == kept_by(cfg, entry)
        state = weights(cfg, step)
        assert sum(t.numel() for t in state.values()) == 25_450
        assert all(t.isfinite().all() for t in state.values())
    check_summary(record.content['summary'],
                  [e['accuracy_by_step'] for e in record.steps])
    name = record.content['method']
    assert ('spWC' in name) == ('spwc' in method)
    assert name in final_table([record])


def check_entry(entry, step, joint, replay):
    seen = step + 1
    assert len(entry['accuracy_by_step']) == len(entry['kpi']['step']) == seen
    for row in (entry['accuracy_by_step'], entry['kpi']['step']):
        assert all(0 <= score <= 1 for score in row)
    assert entry['kpi']['split'] == 'heldout' and entry['kpi']['class'] is None
    mean = sum(entry['accuracy_by_step']) / seen
    # tasks of one size: their mean is that over all samples
    assert entry['accuracy'] == pytest.approx(dict(mean=mean, all=mean))
    assert entry['images'] == dict(
        train=TRAIN * (seen if joint else 1), heldout=HELDOUT * seen,
        test=TEST * seen, **(dict(replay=200) if replay and step else {}))
    assert entry['class_ids'] == list(range(10))
    assert entry['parameters'] == 25_450  # 1024-24-24-10
    assert entry['cost']['wall_time'] > 0


def kept_by(cfg, entry):
    """Earlier tasks with a penalty; an online one has one for all."""
    hook = cfg.method.get('every', {}).get('hooks', {}).get('consolidation')
    if hook is None:
        return None
    v = (entry['priority'] or {}).get('v', [1.] * entry['step'])
    penalised = sum(x > 0 for x in v)
    return dict(stored=entry['step'], penalised=(
        penalised if hook.get('form', 'per_step') == 'per_step'
        else min(penalised, 1)))


def check_summary(summary, rows):
    apa = [sum(row) / len(row) for row in rows]
    best = [max(row[j] for row in rows[j:-1]) for j in range(2)]
    last = rows[-1]
    expected = dict(
        average_apa=sum(apa) / 3,
        average_acf=sum(rows[0][0] - a for a in apa[1:]) / 2,
        final_accuracy=apa[-1],
        first_accuracy=rows[0][0],
        forgetting=sum(b - a for a, b in zip(last, best, strict=False)) / 2,
        bwt=sum(last[j] - rows[j][j] for j in range(2)) / 2,
        learning_accuracy=sum(rows[j][j] for j in range(3)) / 3)
    assert {k: summary[k] for k in expected} == pytest.approx(expected)


@pytest.mark.parametrize('method, active', [
    ('finetune', None), ('blip', None), ('ewc', (1 + 1 / 2 + 1 / 3) / 3),
    ('online-ewc', (1 + 1 / 2 + 1 / 2) / 3),
    ('ewc-spwc', (1 + 1 + 1 / 2) / 3)])
def test_ps_counts_what_is_penalised(run, method, active):
    assert run(method)[1].content['summary']['ps_active'] == pytest.approx(
        active)


def test_the_split_is_recorded(run):
    facts = [run(m)[1].content['scenario']['split'] for m in LEAVES]
    assert all(f == facts[0] for f in facts)
    indices = np.array(held_out_digits(facts[0]['seed']), dtype='<i8')
    assert facts[0] == dict(
        seed=42, ratio=0.2, train=TRAIN, heldout=HELDOUT,
        sha256=hashlib.sha256(indices.tobytes()).hexdigest())


def test_priorities_come_from_the_held_out_scores(run):
    _, record = run('ewc-spwc')
    for step in (1, 2):
        choice = record.step(step)['priority']
        psi = record.step(step - 1)['kpi']['step']
        eta = [-p * math.log(1 - p) for p in psi]
        assert choice['psi'] == pytest.approx(psi)
        assert choice['eta'] == pytest.approx(eta)
        mu = sorted(eta)[step // 2]  # the first that is not kept
        v = [math.sqrt(max(0, 1 - e / mu)) for e in eta]
        assert choice['v'] == pytest.approx(v)


def test_training_once_on_everything_is_joints_last_step(run, tmp_path):
    cfg = digits(tmp_path / 'once', 'joint')
    cfg.merge_from_dict(
        dict(method=Config.fromfile(
            CONFIGS / '_base_/methods/joint_once.py').method))
    record = train(cfg)
    joint, full = run('joint')
    assert record.finished_steps == [2]
    assert record.content['summary'] == {
        'final_accuracy': full.content['summary']['final_accuracy']}
    assert same(weights(cfg), weights(joint))


def test_the_first_step_can_be_trained_alone(run):
    cfg, record = run('finetune', method__run='first')
    whole, full = run('finetune')
    assert record.finished_steps == [0]
    assert record.content['status'] == 'finished'
    assert record.step(0)['kpi'] == full.step(0)['kpi']
    assert same(weights(cfg, 0), weights(whole, 0))


def test_ewc_forgets_less_than_finetuning(run):
    plain, ewc = (
        run(m, train_cfg__max_epochs=6)[1].content['summary']
        for m in ('finetune', 'ewc'))
    assert plain['first_accuracy'] == ewc['first_accuracy'] > 0.8
    assert plain['forgetting'] > 0.15
    assert ewc['forgetting'] < 0.5 * plain['forgetting']
    assert ewc['average_apa'] > plain['average_apa'] + 0.05


def test_joint_once_trains_the_last_task_alone(run):
    _, record = run('joint-once')
    assert record.finished_steps == [2]
    assert record.step(2)['images']['train'] == 3 * TRAIN


@pytest.mark.parametrize('method, options', [
    ('ewc', {}),
    ('online-ewc', {}),
    ('mas', dict(self_paced__rule='spwc', self_paced__k=1,
                 method__every__hooks__consolidation__form='per_step')),
], ids=['ewc', 'online-ewc', 'mas-spwc'])
def test_a_shared_first_task_gives_the_same_run(run, tmp_path, method,
                                                options):
    first = f"{run('finetune')[0].work_dir}/step_00/final.pth"
    cfg = digits(tmp_path / 'run', method, start_from=first,
                 **{k.replace('__', '.'): v for k, v in options.items()})
    record = train(cfg)
    whole, expected = run(method, **options)
    assert all(same(weights(cfg, t), weights(whole, t)) for t in range(3))
    assert record.content['summary'] == expected.content['summary']


def test_methods_that_must_train_the_first_task_say_so(run, tmp_path):
    first = f"{run('finetune')[0].work_dir}/step_00/final.pth"
    cfg = digits(tmp_path / 'si', 'si', start_from=first)
    with pytest.raises(ConfigError, match='gathered while a step is trained'):
        train(cfg)


def test_bits_of_a_run(run):
    cfg, _ = run('blip')
    kept = [load_file(f'{cfg.work_dir}/consolidation/bits_{t:02d}.safetensors')
            for t in range(3)]
    for name in [n for n in kept[0] if n.startswith('bits.')]:
        assert 'head.' not in name
        assert (kept[1][name] >= kept[0][name]).all()
        assert (kept[2][name] >= kept[1][name]).all()
        assert kept[2][name].max() <= 20


def test_a_checkpoint_has_the_recorded_scores(run):
    for method in ('ewc', 'blip'):
        cfg, record = run(method)
        for step in (0, 2):
            path = f'{cfg.work_dir}/step_{step:02d}/final.pth'
            found = ContinualRunner(cfg).test(path)
            assert found == {key: record.step(step)[key] for key in found}
