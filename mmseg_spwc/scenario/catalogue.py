"""Scenarios by name, and from the dict form that a config holds.

``catalogue.json`` holds the published names and class orders by problem and
dataset: ``fields`` of every scenario; ``names`` that an order is cut by;
``orders`` besides the natural one; ``permuted``, names that are an order
themselves; ``aliases``, second names in use. Ids are written compactly:
``1,3,5-7`` stands for 1, 3, 5, 6, 7, and a slash begins the next step.
Background (id 0) is left out, since it always belongs to step 0.
"""
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path

import numpy as np

from .checks import number, seed_number, unknown
from .classification_scenario import ClassificationScenario
from .scenario import Scenario
from .segmentation_scenario import SegmentationScenario
from .step_data import names_classes, read_steps

Steps = tuple[tuple[int | str, ...], ...]
CATALOGUE: dict = json.loads(
    Path(__file__).with_name('catalogue.json').read_text(encoding='utf-8'))
MOST_TASKS = 10_000  # that a name may ask for
# problem -> scenario, datasets, default fields, and what a dataset of one's
# own must give
_PROBLEMS = dict(
    segmentation=(
        SegmentationScenario, CATALOGUE['segmentation'],
        dict(setting='overlapped'), ('steps', 'num_classes')),
    classification=(
        ClassificationScenario, CATALOGUE['classification'], {},
        ('kind', 'steps', 'num_classes')))
_RULES = dict(
    groups='A name A-B takes A classes (domains) first, then groups of B, and '
    'has to use up all {}',
    split='A name AxB makes A tasks of B classes and has to use up all {}',
    permuted=f'A name is the number of tasks, at most {MOST_TASKS}')


def get_scenario(dataset: str,
                 name: str | None = None,
                 setting: str | None = None,
                 order: str | None = None,
                 **overrides: object) -> SegmentationScenario:
    """Build a scenario of segmentation by name or from the user's steps.

    Args:
        dataset: ``voc``, ``ade``, ``cityscapes`` (by class),
            ``cityscapes_domain`` or ``shapes``; any other name together with
            ``steps`` and ``num_classes``.
        name: Such as ``10-1``: ten classes, then one at a time. Free where
            ``steps`` are given.
        setting: ``overlapped`` (the default), ``disjoint``, ``sequential`` or
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
    return build_scenario(
        dict(overrides, dataset=dataset, name=name, setting=setting,
             order=order))


def build_scenario(cfg: Mapping) -> Scenario:
    """Build a scenario from the dict form that a config holds."""
    if 'dataset' not in cfg:
        raise KeyError("A scenario needs the key 'dataset', such as "
                       "dict(dataset='voc', name='10-1').")
    given = dict(cfg)
    for key in ('problem', 'dataset', 'name', 'order'):
        if isinstance(given.get(key), (list, tuple, dict)):
            raise TypeError(f'{key} is {given[key]!r}: give a name.')
    problem = given.pop('problem', 'segmentation')
    if problem not in _PROBLEMS:
        raise ValueError(unknown('problem', problem, _PROBLEMS))
    dataset, name, order = (
        given.pop(key, None) for key in ('dataset', 'name', 'order'))
    kind, datasets, defaults, needs = _PROBLEMS[problem]
    known = [f.name for f in fields(kind) if f.name not in ('dataset', 'name')]
    for key in given:
        if key not in known:
            raise TypeError(
                unknown('scenario keyword', key, ('order', *known)))
    entry = datasets.get(dataset, {})
    given = {k: v for k, v in given.items() if v is not None}
    if names_classes(given.get('steps')) and 'names' not in given:
        entry = dict(fields=entry.get('fields') or dict(kind='class'))
        if 'domain' in (given.get('kind'), entry['fields'].get('kind')):
            raise ValueError('Steps with names or data of their own need '
                             "classes that arrive: leave kind='domain' out.")
        given.update(read_steps(
            given['steps'], given.get('num_classes'),
            entry['fields'].get('num_classes'), kind.first_id))
    given = {**defaults, **entry.get('fields', {}), **given}
    if not entry and not {*needs} <= set(given):
        raise ValueError(
            unknown('dataset', dataset, datasets) + ' A dataset of your own '
            f'needs {", ".join(needs[:-1])} and {needs[-1]}.')
    name = entry.get('aliases', {}).get(name, name)
    if 'steps' not in given:
        seed = seed_number(given.get('seed', 0))
        given['steps'] = _named_steps(problem, dataset, name, order, seed)
        name = _full_name(name, order, given)
    elif order is not None:
        raise ValueError(f'order={order!r} is of no use beside steps, which '
                         'are an order already: remove one of the two.')
    return kind(dataset, name or 'custom', **given)


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

    A row is ``default``; a dataset; a dataset and a name (``voc 15-1``); or
    these and a step (``voc 15-1 step_2``). ``own`` is a scenario as a config
    has it, which the catalogue need not know.
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


def _full_name(name: str, order: str | None, given: Mapping) -> str:
    """The name with what else makes the scenario another one."""
    parts = [str(name)]
    if order not in (None, 'natural', 'random'):
        parts.append(order)
    parts += [f'{key}{number(given[key], key):g}'
              for key in ('noise', 'rotation') if given.get(key)]
    return '-'.join(parts)


def _named_steps(problem: str, dataset: str, name: str | None,
                 order: str | None, seed: int) -> Steps:
    entry = CATALOGUE[problem][dataset]
    permuted = entry.get('permuted', {})
    if name in permuted:
        if order is not None:
            raise ValueError(f'order={order!r} is of no use beside the name '
                             f'{name!r}, which is an order already.')
        return tuple(map(parse_ids, permuted[name].split(' / ')))
    facts = entry['fields']
    segmenting = problem == 'segmentation'
    orders = {'natural': range(segmenting, facts['num_classes']),
              **entry.get('orders', {})}
    usual = 'natural' if segmenting else 'random'
    if order is not None and order not in (usual, *orders):
        raise ValueError(unknown('order', order,
                                 dict.fromkeys((usual, *orders))))
    units = orders.get(order or usual)
    if units is None:
        units = np.random.default_rng(seed).permutation(orders['natural'])
    elif isinstance(units, str):
        units = parse_ids(units)
    rule = 'groups' if segmenting else (
        'permuted' if facts.get('permute') else 'split')
    steps = cut(units, str(name), rule)
    if steps is None:
        names = (*entry['names'], *permuted, *entry.get('aliases', {}))
        raise ValueError(
            unknown(f'scenario of {dataset}', name, names) +
            f' {_RULES[rule].format(len(units))}; or give steps.')
    return steps


def cut(units: Sequence, name: str, rule: str) -> Steps | None:
    """Cut an order of classes or domains into the steps of a name.

    Rules: ``groups``, ``A-B``: the first A units, then groups of B, or
    ``offline``, one step of all; ``split``, ``AxB``: A tasks of B classes;
    ``permuted``, a number of tasks. None where the name has another form or
    its numbers do not fit the number of units.
    """
    units = tuple(u if isinstance(u, str) else int(u) for u in units)
    if rule == 'permuted':
        fits = re.fullmatch(r'[1-9]\d*', name) and int(name) <= MOST_TASKS
        return tuple((f'p{t}', ) for t in range(int(name))) if fits else None
    if rule == 'groups' and name == 'offline':
        return (units, )
    match = re.fullmatch(
        r'(\d+)-(\d+)' if rule == 'groups' else r'(\d+)x(\d+)', name)
    if match is None:
        return None
    first, group = map(int, match.groups())
    if rule == 'split':
        if first * group != len(units):
            return None
        first = group
    rest = len(units) - first
    if min(first, group) < 1 or rest % group or \
            rule == 'groups' and rest < group:
        return None
    later = (units[i:i + group] for i in range(first, len(units), group))
    return (units[:first], *later)


def parse_ids(text: str) -> tuple[int, ...]:
    """Ids of a compact list such as ``'1,3,5-7'``, in the order written."""
    ids = []
    for part in text.split(','):
        first, _, last = part.partition('-')
        ids.extend(range(int(first), int(last or first) + 1))
    return tuple(ids)
