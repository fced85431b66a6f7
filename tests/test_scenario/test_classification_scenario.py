"""Channels, heads and checks of classification scenarios."""
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mmseg_spwc.scenario import (
    ClassificationScenario,
    build_scenario,
    get_scenario,
)

SPLIT = ((3, 1), (0, 4), (2, 5))
DOMAINS = (('a', ), ('b', ), ('c', ))


def make(kind='task', steps=None, num_classes=6, **kw):
    steps = steps or (DOMAINS if kind == 'domain' else SPLIT)
    return ClassificationScenario('toy', 'mine', kind, steps, num_classes,
                                  **kw)


def test_split_into_tasks():
    scenario = make('task')
    assert (scenario.problem, scenario.heads) == ('classification',
                                                    'per_step')
    assert not scenario.has_background
    assert scenario.num_steps == 3
    assert scenario.new_classes(1) == (0, 4)
    assert scenario.old_classes(2) == (3, 1, 0, 4)
    assert scenario.seen_classes(1) == (3, 1, 0, 4)
    assert scenario.channels(2) == (2, 2, 2)
    assert scenario.num_channels(1) == 4
    assert scenario.base_channels() == 2
    assert scenario.step_of_channel(1) == (0, 0, 1, 1)
    assert [scenario.head_of(t) for t in range(3)] == [(0, 2), (2, 2), (4, 2)]
    assert scenario.channel_table(1).tolist() == [2, -1, -1, -1, 3, -1]
    assert scenario.channel_table(1).dtype == np.int64
    assert scenario.class_names('abcdef', 1) == ('d', 'b', 'a', 'e')


def test_growing_head():
    scenario = make('class')
    assert scenario.heads == 'shared'
    assert scenario.channels(2) == (2, 2, 2)
    assert scenario.channel_table(1).tolist() == [2, 1, -1, 0, 3, -1]
    with pytest.raises(ValueError, match='one growing head'):
        scenario.head_of(0)


def test_domains_with_a_shared_head():
    scenario = make('domain')
    assert scenario.heads == 'shared'
    assert scenario.channels(2) == (6, 0, 0)
    assert scenario.new_classes(1) == ()
    assert scenario.task_classes(1) == tuple(range(6))
    assert scenario.seen_classes(2) == tuple(range(6))
    assert [scenario.head_of(t) for t in range(3)] == [(0, 6)] * 3
    assert scenario.channel_table(2).tolist() == list(range(6))
    assert scenario.class_names('abcdef', 2) == tuple('abcdef')


def test_domains_with_a_head_each():
    scenario = make('domain', num_classes=2, heads='per_step')
    assert scenario.channels(2) == (2, 2, 2)
    assert scenario.seen_classes(1) == (0, 1, 0, 1)
    assert scenario.head_of(2) == (4, 2)
    assert scenario.channel_table(1).tolist() == [2, 3]
    assert scenario.class_names(['x', 'y'], 1) == ('x@0', 'y@0', 'x@1', 'y@1')


@st.composite
def scenarios(draw):
    kind = draw(st.sampled_from(['task', 'class', 'domain']))
    num_classes = draw(st.integers(2, 12))
    heads = 'per_step' if kind == 'task' else 'shared'
    if kind == 'domain':
        count = draw(st.integers(1, 5))
        steps = [[f'd{i}'] for i in range(count)]
        heads = draw(st.sampled_from(['per_step', 'shared']))
    else:
        order = draw(st.permutations(range(num_classes)))
        cuts = draw(st.sets(st.integers(1, num_classes - 1)))
        edges = [0, *sorted(cuts), num_classes]
        steps = [order[a:b] for a, b in zip(edges, edges[1:], strict=False)]
    return ClassificationScenario('toy', 'x', kind, steps, num_classes,
                                  heads=heads)


@settings(deadline=None, max_examples=60)
@given(scenarios())
def test_tables_agree_with_the_channels(scenario):
    last = scenario.num_steps - 1
    seen = scenario.seen_classes(last)
    assert len(seen) == scenario.num_channels(last)
    for task in range(scenario.num_steps):
        table = scenario.channel_table(task)
        for label in range(scenario.num_classes):
            if table[label] >= 0:
                assert seen[table[label]] == label
        for label in scenario.task_classes(task):
            assert table[label] >= 0
        if scenario.kind != 'class':
            first, size = scenario.head_of(task)
            used = sorted(table[table >= 0].tolist())
            assert used == list(range(first, first + size))
    assert build_scenario(scenario.to_dict()) == scenario


def test_permutations_are_seeded_on_their_own():
    scenario = make('domain', permute=True, seed=7)
    order = scenario.permutation(1, 50)
    np.random.seed(3)
    assert np.array_equal(order, scenario.permutation(1, 50))
    assert order.dtype == np.int64
    assert sorted(order.tolist()) == list(range(50))
    others = [
        scenario.permutation(0, 50),
        scenario.permutation(2, 50),
        make('domain', permute=True, seed=8).permutation(1, 50)
    ]
    for other in others:
        assert (order != other).sum() > 30
    first = scenario.permutation(0, 50)
    assert not np.array_equal(first, np.arange(50)), 'step 0 is permuted too'
    with pytest.raises(ValueError, match='permute=True'):
        make('domain').permutation(0, 50)


def test_permutations_stay_what_they_were():
    """A record's tasks are theirs: another order is another task."""
    scenario = make('domain', permute=True, seed=7)
    assert scenario.permutation(1, 8).tolist() == [6, 5, 1, 0, 4, 7, 2, 3]
    assert scenario.permutation(2, 5).tolist() == [4, 0, 3, 1, 2]


def test_hashes():
    ten, twenty = make(), make(steps=(SPLIT[0], (0, 4, 2, 5)))
    assert ten.hash != twenty.hash
    assert ten.base_hash == twenty.base_hash
    renamed = build_scenario({**ten.to_dict(), 'name': 'other'})
    assert renamed.base_hash == ten.base_hash != renamed.hash
    for other in (make('class'), make(seed=1),
                  make(steps=((1, 3), *SPLIT[1:]))):
        assert other.base_hash != ten.base_hash


def test_turns():
    assert make('domain', permute=True).num_sources is None
    assert make('domain').num_sources == 3
    assert make('task').num_sources is None
    turns = make('domain', permute=True, turns=2)
    assert turns.num_sources == 2
    assert turns.base_hash != make('domain', permute=True).base_hash


@pytest.mark.parametrize(('fields', 'message'), [
    (dict(kind='tasks'), "Did you mean 'task'"),
    (dict(kind='task', heads='shared'), 'leave heads out'),
    (dict(kind='class', heads='per_step'), 'leave heads out'),
    (dict(heads='many'), 'Unknown heads'),
    (dict(permute=True), "permute needs kind='domain'"),
    (dict(steps=((0, 1), (1, 2, 3, 4, 5))), '1 is in step 0 and again'),
    (dict(steps=((0, 1, 2, 3, 4, 5), ())), 'Step 1 learns nothing.*a class'),
    (dict(steps=((0, 1, 2), (3, 4, 6))), r'\[6\] are out of range'),
    (dict(steps=((0, 1, 2), (3, 4))), r'No step learns the classes \[5\]'),
    (dict(kind='domain', steps=(('a', 'b'), )), 'a step of its own'),
    (dict(kind='domain', steps=(('a', ), ('a', ))), 'every domain belongs'),
    (dict(num_classes=1, steps=((0, ), )), 'from 2 to'),
    (dict(seed=-1), 'seed is -1'),
    (dict(kind='domain', turns=2), 'turns needs permute=True'),
    (dict(kind='domain', permute=True, turns=0), 'turns is 0'),
])
def test_wrong_scenarios(fields, message):
    with pytest.raises(ValueError, match=message):
        make(**fields)


def test_wrong_units_and_steps():
    with pytest.raises(TypeError, match='lists domain names'):
        make('domain', steps=SPLIT)
    with pytest.raises(TypeError, match='lists class ids'):
        make('task', steps=DOMAINS)
    with pytest.raises(IndexError, match='from 0 to 2'):
        make().new_classes(3)
    with pytest.raises(IndexError, match='from 0 to 2'):
        make('class').channel_table(-1)
    with pytest.raises(ValueError, match='name every class'):
        make().class_names('abc', 0)


def test_partial_and_class_zero():
    scenario = make(steps=((0, 5), (1, )), partial=True)
    assert scenario.channel_table(0).tolist() == [0, -1, -1, -1, -1, 1]


def test_build_by_problem():
    cfg = dict(problem='classification', dataset='cifar100', name='10x10')
    assert isinstance(build_scenario(cfg), ClassificationScenario)
    seg = dict(problem='segmentation', dataset='voc', name='10-1')
    assert build_scenario(seg) == get_scenario('voc', '10-1')
    with pytest.raises(ValueError, match="Did you mean 'classification'"):
        build_scenario(dict(cfg, problem='classificaton'))
