"""What is kept depends on names, classes and seed alone."""
import random
from collections import Counter

import pytest

from mmseg_spwc.memory import POLICIES, Replay, Sample, remember


def samples(step, count, classes):
    """So many samples of every class, one class each."""
    return [Sample(f'{step}/{c}/{i}', step, frozenset([c]))
            for c in classes for i in range(count)]


STEPS = [samples(0, 20, [1, 2, 3]), samples(1, 5, [4]), samples(2, 9, [5])]


def shown(kept):
    return Counter(c for sample in kept for c in sample.classes)


@pytest.mark.parametrize('policy', POLICIES)
def test_the_order_of_the_candidates_plays_no_part(policy):
    kept = remember(STEPS, 12, policy, seed=3)
    mixed = [random.Random(1).sample(step, len(step)) for step in STEPS]
    assert remember(mixed, 12, policy, seed=3) == kept
    assert len(kept) == len({s.name for s in kept}) == 12
    assert remember(STEPS, 12, policy, seed=4) != kept


@pytest.mark.parametrize('policy', POLICIES)
def test_what_was_dropped_does_not_come_back(policy):
    before = None
    for t in range(1, 4):
        names = {s.name for s in remember(STEPS[:t], 12, policy)}
        if before is not None:
            fresh = {s.name for s in STEPS[t - 1]}
            assert names - before <= fresh
        before = names


@pytest.mark.parametrize('policy', POLICIES)
def test_fewer_candidates_than_room(policy):
    assert len(remember(STEPS, 1000, policy)) == 74
    assert remember([], 5, policy) == remember([[]], 5, policy) == []
    kept = remember(STEPS[:1], 1000, policy)
    said = Replay(1000).shortages(kept, [1, 2, 3, 4])
    assert said == ['there are 60 samples for a memory of 1000',
                    'none of the memory shows the old channels (domains) 4']
    assert Replay(2).shortages(kept, [1]) == []


@pytest.mark.parametrize('policy', POLICIES)
def test_a_name_is_kept_once(policy):
    twice = [Sample('x', 0, frozenset([1])), Sample('y', 0, frozenset([1]))]
    again = [Sample('x', 1, frozenset([2]))]
    kept = remember([twice, again], 5, policy)
    assert [(s.name, s.step) for s in kept] == [('x', 0), ('y', 0)]


@pytest.mark.parametrize('policy', ['round_robin', 'balanced'])
def test_classes_are_balanced(policy):
    kept = remember(STEPS[:1], 12, policy)
    assert shown(kept) == {1: 4, 2: 4, 3: 4}
    # five classes for ten places
    assert shown(remember(STEPS, 10, policy)) == dict.fromkeys(range(1, 6), 2)


def test_turns_are_taken_in_spite_of_a_frequent_class():
    both = [Sample(f'{c}{i}', 0, frozenset([c, 9]))
            for c in range(4) for i in range(6)]
    kept = remember([both], 10, 'round_robin')
    assert shown(kept)[9] == 10
    assert min(shown(kept)[c] for c in range(4)) >= 2


def test_the_rarest_class_takes_a_sample_and_the_fullest_loses_one():
    many = [Sample(f'a{i}', 0, frozenset([1])) for i in range(6)]
    few = [Sample(f'b{i}', 1, frozenset([1, 2])) for i in range(2)]
    kept = remember([many, few], 4, 'balanced')
    assert shown(kept) == {1: 4, 2: 2}


def test_every_sample_stays_in_a_reservoir_with_the_same_frequency():
    steps = [samples(0, 4, [1]), samples(1, 6, [2])]
    seeds, size = 10_000, 3
    counts = Counter(s.name for seed in range(seeds)
                     for s in remember(steps, size, 'reservoir', seed))
    assert len(counts) == 10
    sigma = (size / 10 * (1 - size / 10) / seeds)**.5
    for count in counts.values():
        assert abs(count / seeds - size / 10) < 4 * sigma


def test_images_of_the_step_itself_are_left_out():
    kept = Replay(60).choose(STEPS[:1], trained={'0/1/0', '0/2/3'})
    assert len(kept) == 58
    assert len(Replay(60, duplicates=True).choose(STEPS[:1], {'0/1/0'})) == 60


@pytest.mark.parametrize(('options', 'what'), [
    (dict(), 'needs a size'),
    (dict(size=3, sise=4), "no option 'sise'"),
    (dict(size=0), 'replay.size is 0'),
    (dict(size='3'), 'replay.size'),
    (dict(size=3, policy='herding'), 'round_robin, balanced, reservoir'),
    (dict(size=3, labels='all'), 'stored, seen, current'),
    (dict(size=3, mix='third'), 'replay.mix'),
    (dict(size=3, mix=dict(share=1)), 'replay.mix'),
    (dict(size=3, mix=1.), 'replay.mix'),
    (dict(size=3, mix=dict(part=.5)), 'replay.mix'),
    (dict(size=3, seed=-1), 'replay.seed'),
])
def test_bad_options_are_refused(options, what):
    with pytest.raises(ValueError, match=what):
        Replay.of(options)
