"""Scenarios by name, and from the dict form that a config holds."""
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields

import numpy as np

from . import orders
from .checks import number, seed_number, unknown
from .classification import ClassificationScenario
from .old_words import check_new_words
from .scenario import Scenario
from .segmentation import SegmentationScenario


@dataclass(frozen=True)
class _Dataset:
    """What the catalogue knows of one dataset.

    Args:
        common: Fields of every scenario of the dataset.
        names: Published names that an order is cut by.
        orders: Units (class ids or domains) in each named order.
        steps: Cuts an order by a name; None where it has no meaning.
        rule: What a name means, for a message.
        order: The order that is taken where none is named; ``random`` is
            drawn by the scenario's seed.
        permuted: Steps of published names that are an order themselves.
        aliases: Second names in use for the above.
    """

    common: Mapping
    names: tuple[str, ...]
    orders: Mapping[str, Sequence]
    steps: Callable[[Sequence, str], orders.Steps | None]
    rule: str
    order: str = 'natural'
    permuted: Mapping[str, orders.Steps] = field(default_factory=dict)
    aliases: Mapping[str, str] = field(default_factory=dict)


def _groups(units: Sequence, *names: str, more_orders: Mapping | None = None,
            permuted: Mapping | None = None, aliases: Mapping | None = None,
            **common) -> _Dataset:
    """A dataset of segmentation: names A-B."""
    rule = ('A name A-B takes A classes (domains) first, then groups of B, '
            f'and has to use up all {len(units)}')
    return _Dataset(
        common, ('offline', *names), {'natural': units, **(more_orders or {})},
        orders.natural_steps, rule, 'natural', permuted or {}, aliases or {})


def _split(num_classes: int, *names: str,
           more_orders: Mapping | None = None) -> _Dataset:
    """A dataset of classification: names AxB."""
    rule = ('A name AxB makes A tasks of B classes and has to use up all '
            f'{num_classes}')
    return _Dataset(
        {'kind': 'task', 'num_classes': num_classes}, names,
        {'natural': range(num_classes), **(more_orders or {})},
        orders.split_steps, rule, 'random')


def _permutations(**common) -> _Dataset:
    """A dataset of classification whose pixels are shuffled."""
    common = {'kind': 'domain', 'num_classes': 10, 'permute': True, **common}
    return _Dataset(
        common, ('10', ), {'natural': range(10)}, orders.permuted_steps,
        'A name is the number of tasks, at most '
        f'{orders.MOST_TASKS}', 'random')


_VOC_ORDERS = orders.permuted_voc()
_SEGMENTATION = {
    'voc':
    _groups(
        range(1, 21), '19-1', '15-5', '15-1', '10-5', '10-1', '5-5', '5-3',
        '5-1', '2-2', '2-1', num_classes=21,
        more_orders={
            'frequent-last': orders.parse_ids(orders.VOC_FREQUENT_LAST)
        },
        permuted=_VOC_ORDERS,
        aliases={
            '15-5s': '15-1',
            '10-5-5': '10-5',
            **{
                f'15-5s_{name[-1]}': name
                for name in _VOC_ORDERS if name.startswith('15-1')
            }
        }),
    'ade':
    _groups(
        range(1, 151), '100-50', '100-10', '100-5', '50-50', num_classes=151,
        permuted=orders.permuted_ade(),
        aliases={'50': '50-50', '50b': '50-50b', '50c': '50-50c'}),
    'cityscapes':
    _groups(
        range(1, 20), '14-5', '13-6', '13-1', '10-9', num_classes=20,
        label_offset=1),
    'cityscapes_domain':
    _groups(
        orders.CITIES, '11-5', '11-1', '1-1', num_classes=19, kind='domain',
        domain_pattern=r'^([a-z]+)_', test_ratio=0.2),
    'shapes':
    _groups(range(1, 11), '6-1', '5-1', '2-2', num_classes=11),
}
_CLASSIFICATION = {
    'permuted_mnist': _permutations(),
    'permuted_digits': _permutations(),
    'permuted_mnist_fashion': _permutations(turns=2),
    'cifar100': _split(100, '10x10', '20x5', '5x20'),
    'tiny_imagenet':
    _split(
        200, '10x20', '20x10', '5x40',
        more_orders={'easy-first': orders.parse_ids(orders.TINY_EASY_FIRST)}),
}
# problem -> scenarios, datasets, and what a dataset of one's own must give
_PROBLEMS = {
    kind.problem: (kind, datasets, needs)
    for kind, datasets, needs in (
        (SegmentationScenario, _SEGMENTATION, ('steps', 'num_classes')),
        (ClassificationScenario, _CLASSIFICATION,
         ('kind', 'steps', 'num_classes')))
}


def known_scenarios(dataset: str) -> tuple[str, ...]:
    """Published names of a dataset of segmentation, without aliases."""
    if dataset not in _SEGMENTATION:
        raise ValueError(unknown('dataset', dataset, _SEGMENTATION))
    entry = _SEGMENTATION[dataset]
    return (*entry.names, *entry.permuted)


def get_scenario(dataset: str,
                 name: str | None = None,
                 setting: str = 'overlapped',
                 order: str | None = None,
                 **overrides: object) -> SegmentationScenario:
    """Build a scenario of segmentation by name or from the user's steps.

    Args:
        dataset: ``voc``, ``ade``, ``cityscapes`` (by class),
            ``cityscapes_domain`` or ``shapes``; any other name together with
            ``steps`` and ``num_classes``.
        name: Such as ``10-1``: ten classes, then one at a time. Free where
            ``steps`` are given.
        setting: ``overlapped``, ``disjoint``, ``sequential`` or
            ``partitioned``.
        order: ``natural``, by id, or another one of the dataset's orders,
            which then is a part of the scenario's name. Defaults to the
            published one.
        **overrides: Fields of :class:`SegmentationScenario`, such as
            ``steps``. None leaves a field as it is.

    Returns:
        SegmentationScenario: The scenario; an alias is replaced by the main
        name.
    """
    return _get('segmentation', dataset, name, order,
                dict(overrides, setting='overlapped' if setting is None
                     else setting))


def get_classification_scenario(dataset: str,
                                name: str | None = None,
                                order: str | None = None,
                                **overrides: object) -> ClassificationScenario:
    """Build a scenario of classification by name or from the user's steps.

    Args:
        dataset: ``permuted_mnist``, ``permuted_digits``,
            ``permuted_mnist_fashion``, ``cifar100`` or ``tiny_imagenet``;
            any other name together with ``kind``, ``steps`` and
            ``num_classes``.
        name: The number of tasks of a permuted dataset; ``AxB`` for A tasks
            of B classes. Free where ``steps`` are given.
        order: ``random``: the scenario's ``seed`` decides which classes make
            a task; ``natural``: by id; or another one of the dataset's
            orders, which then is a part of the scenario's name. Defaults to
            ``random``.
        **overrides: Fields of :class:`ClassificationScenario`, such as
            ``seed`` or ``kind='class'``. None leaves a field as it is.
    """
    return _get('classification', dataset, name, order, overrides)


def build_scenario(cfg: Mapping) -> Scenario:
    """Build a scenario from the dict form that a config holds.

    Args:
        cfg: Such as ``dict(dataset='voc', name='10-1')``, or
            ``dict(problem='classification', dataset='cifar100',
            name='10x10')``.
    """
    check_new_words(cfg)
    if 'dataset' not in cfg:
        raise KeyError("A scenario needs the key 'dataset', such as "
                       "dict(dataset='voc', name='10-1').")
    given = dict(cfg)
    for key in ('problem', 'dataset', 'name', 'order'):
        if isinstance(given.get(key), (list, tuple, dict)):
            raise TypeError(f'{key} is {given[key]!r}: give a name.')
    problem = given.pop('problem', SegmentationScenario.problem)
    if problem not in _PROBLEMS:
        raise ValueError(unknown('problem', problem, _PROBLEMS))
    if problem == 'segmentation':
        return get_scenario(**given)
    return get_classification_scenario(**given)


def row_names(scenario: Scenario, step: int) -> tuple[str, ...]:
    """Names of the rows that fit a step in a table, the most special first.

    A scenario of another class order (``15-1b``) also takes the rows of its
    natural one (``15-1``).
    """
    natural = re.sub(r'(?<=\d)([a-z]|-[a-z][\w.-]*)$', '', scenario.name)
    names = [f'{scenario.dataset} {name}' for name in dict.fromkeys(
        (scenario.name, natural))]
    return (*(row for name in names for row in (f'{name} step_{step}', name)),
            scenario.dataset, 'default')


def check_row_name(row: str, own: Mapping) -> None:
    """Refuse the name of a row that no scenario looks for.

    Args:
        row: ``default``; a dataset; a dataset and a name (``voc 15-1``); or
            these and a step (``voc 15-1 step_2``).
        own: A scenario as a config has it, with a dataset or a name that the
            catalogue need not know.
    """
    if row == 'default':
        return
    head, step = re.fullmatch(r'(.*?)(?: step_(\d+))?', row).groups()
    dataset, _, name = head.partition(' ')
    problems = {d: p for p in _PROBLEMS for d in _PROBLEMS[p][1]}
    is_own = (dataset, name) == (own.get('dataset'), str(own.get('name')))
    steps = own.get('steps') if is_own else None
    if steps is None and dataset in problems and name:
        scenario = build_scenario(
            dict(problem=problems[dataset], dataset=dataset, name=name))
        if scenario.name != name:
            raise ValueError(f'{name!r} is a second name: write '
                             f'{scenario.name!r}.')
        steps = scenario.steps
    elif dataset not in (*problems, own.get('dataset')):
        raise ValueError(unknown('dataset', dataset, ('default', *problems)))
    if step and (not name or steps and int(step) >= len(steps)):
        raise ValueError(f'{head!r} has no step {step}: name a scenario and '
                         'one of its steps, which count from 0.')


def _get(problem: str, dataset: str, name: str | None, order: str | None,
         overrides: Mapping) -> Scenario:
    kind, datasets, needs = _PROBLEMS[problem]
    known = [f.name for f in fields(kind) if f.name not in ('dataset', 'name')]
    for key in overrides:
        if key not in known:
            raise TypeError(
                unknown('scenario keyword', key, ('order', *known)))
    given = {k: v for k, v in overrides.items() if v is not None}
    entry = datasets.get(dataset)
    if entry is not None:
        name = entry.aliases.get(name, name)
        given = {**entry.common, **given}
    elif not {*needs} <= set(given):
        raise ValueError(
            unknown('dataset', dataset, datasets) + ' A dataset of your own '
            f'needs {", ".join(needs[:-1])} and {needs[-1]}.')
    if 'steps' not in given:
        seed = seed_number(given.get('seed', 0))
        given['steps'] = _named_steps(entry, dataset, name, order, seed)
        name = _full_name(name, order, given)
    elif order is not None:
        raise ValueError(f'order={order!r} is of no use beside steps, which '
                         'are an order already: remove one of the two.')
    return kind(dataset, name or 'custom', **given)


def _full_name(name: str, order: str | None, given: Mapping) -> str:
    """The name with what else makes the scenario another one."""
    parts = [str(name)]
    if order not in (None, 'natural', 'random'):
        parts.append(order)
    parts += [f'{key}{number(given[key], key):g}'
              for key in ('noise', 'rotation') if given.get(key)]
    return '-'.join(parts)


def _named_steps(entry: _Dataset, dataset: str, name: str | None,
                 order: str | None, seed: int) -> orders.Steps:
    if name in entry.permuted:
        if order is not None:
            raise ValueError(f'order={order!r} is of no use beside the name '
                             f'{name!r}, which is an order already.')
        return entry.permuted[name]
    known = dict.fromkeys((entry.order, *entry.orders))
    if order is not None and order not in known:
        raise ValueError(unknown('order', order, known))
    units = entry.orders.get(order or entry.order)
    if units is None:
        units = np.random.default_rng(seed).permutation(
            entry.orders['natural'])
    steps = entry.steps(units, str(name))
    if steps is None:
        names = (*entry.names, *entry.permuted, *entry.aliases)
        raise ValueError(
            unknown(f'scenario of {dataset}', name, names) +
            f' {entry.rule}; or give steps.')
    return steps
