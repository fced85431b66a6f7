"""Classification scenarios by name."""
import numpy as np
import pytest

from mmseg_spwc.scenario import ClassificationScenario, build_scenario


def classification(dataset: str, name: str | None = None,
                   **fields: object) -> ClassificationScenario:
    return build_scenario(dict(
        fields, problem='classification', dataset=dataset, name=name))


@pytest.mark.parametrize(('dataset', 'name', 'channels'), [
    ('permuted_mnist', '10', [10] + [0] * 9),
    ('permuted_digits', '3', [10, 0, 0]),
    ('cifar100', '10x10', [10] * 10),
    ('cifar100', '20x5', [5] * 20),
    ('cifar100', '2x50', [50] * 2),
    ('tiny_imagenet', '10x20', [20] * 10),
])
def test_sizes(dataset, name, channels):
    scenario = classification(dataset, name)
    assert scenario.channels(scenario.num_steps - 1) == tuple(channels)
    assert build_scenario(scenario.to_dict()) == scenario


def test_kinds():
    mnist = classification('permuted_mnist', '10')
    assert (mnist.kind, mnist.heads, mnist.permute) == ('domain', 'shared',
                                                        True)
    heads = classification('permuted_mnist', '10', heads='per_step')
    assert heads.num_channels(9) == 100
    cifar = classification('cifar100', '10x10')
    assert (cifar.kind, cifar.heads, cifar.permute) == ('task', 'per_step',
                                                        False)
    grown = classification('cifar100', '10x10', kind='class')
    assert grown.heads == 'shared'


def test_class_orders():
    natural = classification('cifar100', '5x20', order='natural')
    assert natural.steps[1] == tuple(range(20, 40))
    orders = []
    for seed in (0, 1):
        scenario = classification('cifar100', '10x10', seed=seed)
        order = [c for step in scenario.steps for c in step]
        assert sorted(order) == list(range(100))
        assert order == np.random.default_rng(seed).permutation(100).tolist()
        assert scenario.seed == seed
        orders.append(order)
    assert orders[0] != orders[1]
    # the same order, cut otherwise
    halves = classification('cifar100', '20x5')
    assert [c for step in halves.steps for c in step] == orders[0]


def test_a_known_order():
    """A run of the past can be repeated: the order of seed 0 is fixed."""
    scenario = classification('cifar100', '10x10')
    assert scenario.steps[0] == (82, 36, 20, 5, 93, 16, 94, 52, 72, 90)


def test_own_datasets_and_steps():
    own = classification(
        'birds', kind='class', steps=[[0, 1], [2]], num_classes=3)
    assert (own.name, own.num_steps) == ('custom', 2)
    known = classification(
        'cifar100', 'mine', steps=[[5, 1], [7]], partial=True)
    assert known.steps == ((5, 1), (7, )) and known.kind == 'task'


@pytest.mark.parametrize(('args', 'fields', 'message'), [
    (('cifar100', '10x9'), {}, 'use up all 100'),
    (('cifar100', ), {}, 'Known: 10x10'),
    (('permuted_mnist', '0'), {}, 'number of tasks'),
    (('permuted_mnist', 'ten'), {}, 'number of tasks'),
    (('cifar10', '5x2'), {}, "Did you mean 'cifar100'.*needs kind"),
    (('cifar100', '10x10'), dict(order='sorted'), 'Unknown order'),
    (('cifar100', ), dict(order='natural', steps=[[0], [1]], partial=True),
     'remove one of the two'),
])
def test_wrong_names(args, fields, message):
    with pytest.raises(ValueError, match=message):
        classification(*args, **fields)


def test_unknown_keyword():
    with pytest.raises(TypeError, match="Did you mean 'heads'"):
        classification('cifar100', '10x10', head='task')


def test_a_number_as_a_name():
    """So a command line gives it: scenario.name=3."""
    number, word = (
        classification('permuted_digits', n) for n in (3, '3'))
    assert number.name == '3'
    assert number.hash == word.hash


def test_easy_classes_first():
    scenario = classification(
        'tiny_imagenet', '10x20', order='easy-first')
    assert scenario.name == '10x20-easy-first'
    assert sorted(sum(scenario.steps, ())) == list(range(200))
    assert scenario.steps[0][:3] == (103, 191, 23)
    assert scenario.steps[9][-1] == 88
    # the order is fixed, whatever the seed
    assert scenario.steps == classification(
        'tiny_imagenet', '10x20', order='easy-first', seed=5).steps
