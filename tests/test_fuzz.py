"""Any input at all: a right answer or a clear error, never anything else."""
import json
import math

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from mmseg_spwc.config.keys import KEYS, check_keys
from mmseg_spwc.datasets.transforms import MapLabels
from mmseg_spwc.errors import ConfigError, RecordError
from mmseg_spwc.record import Record
from mmseg_spwc.scenario import SETTINGS, build_scenario
from mmseg_spwc.selfpaced import SelfPacedWeights

USER_ERRORS = (ValueError, TypeError, KeyError)
quick = settings(max_examples=60, deadline=None,
                 suppress_health_check=[HealthCheck.function_scoped_fixture])
anything = st.recursive(
    st.none() | st.booleans() | st.integers(-300, 300) | st.floats()
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=8)

# scenarios

class_steps = st.lists(
    st.lists(st.integers(-1, 7), max_size=4) | anything, max_size=4)


@quick
@given(class_steps, st.sampled_from(SETTINGS), st.integers(1, 8),
       st.sampled_from(['background', 'ignore']), st.booleans())
def test_scenarios_build_or_are_refused(steps, setting, classes, future,
                                        partial):
    try:
        scenario = build_scenario(dict(
            dataset='own', steps=steps, num_classes=classes, setting=setting,
            future=future, partial=partial))
    except USER_ERRORS as error:
        assert str(error)
        return
    seen = [c for step in scenario.steps for c in step]
    assert len(set(seen)) == len(seen) and set(seen) < set(range(classes))
    check_tables(scenario)


def check_tables(scenario):
    for t in range(scenario.num_steps):
        channels = scenario.seen_classes(t)
        train, test = scenario.train_table(t), scenario.test_table(t)
        for c in range(scenario.num_classes):
            if c in channels:
                assert test[c] == channels.index(c)
            if c in scenario.new_classes(t):
                assert train[c] == channels.index(c)
        for table in (train, test):
            values = {int(v) for v in table} - {255}
            assert values <= set(range(scenario.num_channels(t)))
        assert (train[scenario.num_classes:255] == 255).all()


@quick
@given(st.dictionaries(
    st.sampled_from(['problem', 'dataset', 'name', 'setting', 'steps', 'kind',
                     'num_classes', 'order', 'seed', 'void', 'permute']),
    anything | st.sampled_from(['voc', 'cifar100', '10-1', '10x10', 'class',
                                'classification', 'permuted_mnist', '3'])))
def test_any_scenario_dict_builds_or_is_refused(config):
    try:
        scenario = build_scenario(config)
    except USER_ERRORS as error:
        assert str(error)
    else:
        json.dumps(scenario.to_dict())
        assert len(scenario.hash) == 64


@quick
@given(st.lists(st.integers(0, 255), min_size=256, max_size=256),
       st.integers(1, 5), st.integers(1, 5), st.randoms())
def test_label_maps_are_look_ups(table, height, width, random):
    mask = np.array([[random.randrange(256) for _ in range(width)]
                     for _ in range(height)], dtype=np.uint8)
    mapped = MapLabels(table)(dict(gt_seg_map=mask.copy()))['gt_seg_map']
    assert mapped.dtype == np.uint8 and mapped.shape == mask.shape
    for y in range(height):
        for x in range(width):
            assert mapped[y, x] == table[mask[y, x]]


@quick
@given(anything)
def test_tables_of_another_form_are_refused(table):
    with pytest.raises((*USER_ERRORS, OverflowError)):
        MapLabels(table)


# self-paced weights

units = st.lists(
    st.none() | st.just(math.nan) | st.floats(0, 1) | st.sampled_from(
        [0., 1., 1 - 1e-16, 5e-324]), max_size=6)
ages = st.one_of(
    st.fixed_dictionaries({'mu': st.floats(0) | st.just(math.inf)}),
    st.fixed_dictionaries({'k': st.integers(0, 8)}),
    st.fixed_dictionaries({'age': st.one_of(
        st.builds(dict, type=st.just('fraction'), f=st.floats(0, 1)),
        st.builds(dict, type=st.just('threshold'), psi_star=st.floats(0, 1)),
        st.builds(dict, type=st.just('mean'), scale=st.floats(0, 10)),
        st.builds(dict, type=st.just('schedule'), start=st.floats(0, 10),
                  factor=st.floats(1, 3)))}))
options = st.fixed_dictionaries({}, optional=dict(
    rule=st.sampled_from(['spwc', 'hard', 'linear']),
    form=st.sampled_from(['separable', 'coupled']),
    normalise=st.sampled_from([None, 'sum', 'max']),
    protect_last=st.booleans(),
    min_weight=st.floats(0, 1)))


@quick
@given(units, ages, options, st.integers(1, 20))
def test_weights_are_finite_and_ordered(psi, age, chosen, step):
    try:
        pace = SelfPacedWeights(**age, **chosen)
    except ValueError as error:  # such as a hard rule in the coupled form
        assert str(error)
        return
    decision = pace(psi, step=step)
    v = decision.v
    assert v.shape == (len(psi), )
    assert v.isfinite().all() and (v >= 0).all()
    unknown = [i for i, p in enumerate(psi) if p is None or math.isnan(p)]
    assert list(decision.missing) == unknown
    if not pace.protect_last:
        assert (v[unknown] == 1).all()
        known = [i for i in range(len(psi)) if i not in unknown]
        ranked = v[sorted(known, key=lambda i: psi[i])]
        # the worse a unit is done, the larger its weight
        assert (ranked.diff() <= 1e-9).all()


@quick
@given(st.lists(anything, max_size=3), st.dictionaries(
    st.sampled_from(['rule', 'mu', 'k', 'age', 'form', 'normalise', 'eps',
                     'min_weight', 'eta_scale', 'relative']),
    anything | st.sampled_from(['spwc', 'log', 'coupled']), max_size=4))
def test_any_options_work_or_are_refused(psi, chosen):
    try:
        decision = SelfPacedWeights(**chosen)(psi)
    except USER_ERRORS as error:
        assert str(error)
    else:
        assert decision.v.dtype == torch.float64


# records


def good_record() -> dict:
    run = dict(name='x', config='a = 1\n', config_hash='0', seed=1,
               command='train', packages={}, commit=None, world_size=1)
    entry = dict(
        step=0, classes=['a', 'b'], class_ids=[0, 1], accuracy_by_step=[0.5],
        accuracy=dict(mean=0.5, all=0.5),
        kpi={'split': 'heldout', 'class': None, 'step': [0.5]},
        images=dict(train=5), parameters=10, checkpoint='step_00/final.pth',
        cost=dict(wall_time=1.5, peak_memory=3))
    record = Record.new('classification', run, dict(hash='h'), 'Finetune')
    record.add_step(entry, dict(average_apa=0.5))
    return record.content


def places(value, path=()) -> list:
    """Paths to everything inside a JSON value."""
    pairs = value.items() if isinstance(value, dict) else \
        enumerate(value) if isinstance(value, list) else ()
    return [path, *(p for key, inner in pairs
                    for p in places(inner, (*path, key)))]


@pytest.fixture(scope='module')
def file(tmp_path_factory):
    return tmp_path_factory.mktemp('fuzz') / 'record.json'


@quick
@given(st.sampled_from(places(good_record())[1:]), anything, st.booleans())
def test_changed_records_are_read_or_refused(file, place, value, remove):
    content = good_record()
    parent = content
    for key in place[:-1]:
        parent = parent[key]
    parent[place[-1]] = value
    if remove:
        del parent[place[-1]]
    file.write_text(json.dumps(content))
    try:
        record = Record.read(file)
    except RecordError as error:
        assert str(file) in str(error)
    else:
        assert record.finished_steps is not None


@quick
@given(st.binary(max_size=60) | st.integers(0, 400).map(
    lambda n: json.dumps(good_record()).encode()[:n]))
def test_any_bytes_are_no_record(file, content):
    file.write_bytes(content)
    with pytest.raises(RecordError, match='record'):
        Record.read(file)


def config() -> dict:
    part = {'x': 1}
    return dict(scenario=part, method=dict(name='x'), model=part,
                train_dataloader=part, test_dataloader=part, train_cfg=part,
                optim_wrapper=part)


@quick
@given(st.sampled_from([k for k in KEYS if len(k) > 6]), st.data())
def test_one_wrong_letter_is_noticed(key, data):
    where = data.draw(st.integers(0, len(key) - 1))
    letter = data.draw(st.sampled_from('abcdefghijklmnopqrstuvwxyz_'))
    typo = data.draw(st.sampled_from([
        key[:where] + key[where + 1:],
        key[:where] + letter + key[where:],
        key[:where] + letter + key[where + 1:]]))
    assume(typo not in KEYS)
    with pytest.raises(ConfigError, match=key):
        check_keys(dict(config(), **{typo: {'x': 1}}))


@quick
@given(st.dictionaries(
    st.sampled_from([*KEYS, 'model', 'train_cfg']) | st.text(max_size=9),
    anything))
def test_any_keys_are_taken_or_refused(changes):
    try:
        check_keys({**config(), **changes})
    except ConfigError as error:
        assert str(error)
