"""Scenarios by name, and from the dict form that a config holds."""
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields

from .checks import unknown
from .old_words import check_new_words
from .orders import CITIES, Steps, natural_steps, permuted_ade, permuted_voc
from .scenario import Scenario
from .task_catalogue import get_task_scenario
from .tasks import TaskScenario


@dataclass(frozen=True)
class _Dataset:
    """What the catalogue knows of one dataset.

    Args:
        units: Foreground class ids or domains in natural order.
        common: Fields of every scenario of the dataset.
        names: Published names that follow the natural order.
        permuted: Steps of published names that follow another order.
        aliases: Second names in use for the above.
    """

    units: Sequence[int | str]
    common: dict
    names: tuple[str, ...]
    permuted: Mapping[str, Steps] = field(default_factory=dict)
    aliases: Mapping[str, str] = field(default_factory=dict)


_VOC_ORDERS = permuted_voc()
_ADE_ORDERS = permuted_ade()

_DATASETS = {
    'voc':
    _Dataset(
        units=range(1, 21),
        common={'num_classes': 21},
        names=('offline', '19-1', '15-5', '15-1', '10-5', '10-1', '5-5',
               '5-3', '5-1', '2-2', '2-1'),
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
    _Dataset(
        units=range(1, 151),
        common={'num_classes': 151},
        names=('offline', '100-50', '100-10', '100-5', '50-50'),
        permuted=_ADE_ORDERS,
        aliases={
            '50': '50-50',
            '50b': '50-50b',
            '50c': '50-50c'
        }),
    'cityscapes':
    _Dataset(
        units=range(1, 20),
        common={
            'num_classes': 20,
            'label_offset': 1
        },
        names=('offline', '14-5', '13-6', '13-1', '10-9')),
    'cityscapes_domain':
    _Dataset(
        units=CITIES,
        common={
            'num_classes': 19,
            'kind': 'domain',
            'domain_pattern': r'^([a-z]+)_',
            'test_ratio': 0.2
        },
        names=('offline', '11-5', '11-1', '1-1')),
    'shapes':
    _Dataset(
        units=range(1, 11),
        common={'num_classes': 11},
        names=('offline', '6-1', '5-1', '2-2')),
}

_OVERRIDES = [f.name for f in fields(Scenario)][3:]


def known_scenarios(dataset: str) -> tuple[str, ...]:
    """Published names of a dataset, without their aliases."""
    if dataset not in _DATASETS:
        raise ValueError(unknown('dataset', dataset, _DATASETS))
    return (*_DATASETS[dataset].names, *_DATASETS[dataset].permuted)


def get_scenario(dataset: str,
                 name: str | None = None,
                 setting: str = 'overlapped',
                 **overrides) -> Scenario:
    """Build a scenario from the catalogue or from the user's own order.

    Args:
        dataset: ``voc``, ``ade``, ``cityscapes`` (by class),
            ``cityscapes_domain`` or ``shapes``; any other name together with
            ``steps`` and ``num_classes``.
        name: Such as ``10-1``: ten classes, then one at a time. Free where
            ``steps`` are given.
        setting: ``overlapped``, ``disjoint``, ``sequential`` or
            ``partitioned``.
        **overrides: Fields of :class:`Scenario`, such as ``steps``. None
            leaves a field as it is.

    Returns:
        Scenario: The scenario; an alias is replaced by the main name.
    """
    for key in overrides:
        if key not in _OVERRIDES:
            raise TypeError(unknown('scenario keyword', key, _OVERRIDES))
    given = {k: v for k, v in overrides.items() if v is not None}
    if dataset in _DATASETS:
        entry = _DATASETS[dataset]
        name = entry.aliases.get(name, name)
        if 'steps' not in given:
            given['steps'] = _named_steps(dataset, name)
        given = {**entry.common, **given}
    elif not {'steps', 'num_classes'} <= set(given):
        raise ValueError(
            unknown('dataset', dataset, _DATASETS) +
            ' A dataset of your own needs steps and num_classes.')
    return Scenario(dataset, name or 'custom', setting, **given)


def build_scenario(cfg: Mapping) -> Scenario | TaskScenario:
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
    problem = given.pop('problem', Scenario.problem)
    if problem not in _BUILDERS:
        raise ValueError(unknown('problem', problem, _BUILDERS))
    return _BUILDERS[problem](**given)


def _named_steps(dataset: str, name: str | None) -> Steps:
    entry = _DATASETS[dataset]
    steps = entry.permuted.get(name) or natural_steps(entry.units, str(name))
    if steps is None:
        known = (*known_scenarios(dataset), *entry.aliases)
        raise ValueError(
            unknown(f'scenario of {dataset}', name, known) +
            ' A name A-B takes A classes (domains) first, then groups of B, '
            f'and has to use up all {len(entry.units)}; or give steps.')
    return steps


_BUILDERS = {
    Scenario.problem: get_scenario,
    TaskScenario.problem: get_task_scenario,
}
