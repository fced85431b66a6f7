"""Data of a step's own: which values of its labels mean which class.

A step of a scenario is a list of class ids of the config's dataset, or::

    dict(classes=['pole'], data=dict(train=..., test=..., labels=..., old=...))

where classes have names, and ``data`` is left out for the config's dataset,
or None where there are no data (any more). Datasets themselves are handled by
:mod:`mmseg_spwc.problems`.
"""
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mmseg_spwc.labels import VOID

from .checks import unknown, whole_number

OTHERS = 'others'
UNLEARNT = -1  # id of a class that no step learns
OLD = ('background', 'labelled')
STEP_KEYS = ('classes', 'data')
DATA_KEYS = ('data_root', 'train', 'test', 'labels', 'old')


@dataclass(frozen=True)
class StepData:
    """What a scenario knows of data that belong to one step alone.

    Args:
        labels: Values that mean a class, by its name. Beside the classes
            there may be ``background`` and ``void``; one name may have the
            values ``'others'``. None: the classes have the names that the
            dataset itself gives them.
        old: In training, old classes are ``background``, or ``labelled`` as
            the labels have them.
        train: Whether there are images to train on.
        test: Whether there are test images.
    """
    labels: Mapping[str, Sequence[int] | str] | None = None
    old: str = 'background'
    train: bool = True
    test: bool = True

    def has(self, role: str) -> bool:
        """Whether there are images for ``train``, ``heldout`` or ``test``."""
        return self.test if role == 'test' else self.train


@dataclass(frozen=True)
class LabelMap:
    """The class id of every label value of one dataset.

    Args:
        ids: Class id by value; 0 is the background of segmentation.
        others: Id of all values not among these; None: there must be none.
        void: Values that are not counted.
    """
    ids: Mapping[int, int]
    others: int | None = None
    void: frozenset[int] = frozenset({VOID})

    def values(self, classes: Iterable[int]) -> frozenset[int]:
        """Label values of class ids."""
        wanted = set(classes)
        return frozenset(v for v, c in self.ids.items() if c in wanted)

    def classes(self, values: Iterable[int]) -> frozenset[int]:
        """Class ids of label values."""
        return frozenset(self.ids.get(v, self.others) for v in values)

    def foreground(self) -> frozenset[int]:
        """Label values of all classes but background, learnt or not."""
        return frozenset(v for v, c in self.ids.items() if c != 0)

    def labels(self, class_id: int) -> bool:
        """Whether a class is told from background."""
        return class_id in self.ids.values() or class_id == self.others

    def wrong(self, values: Iterable[int]) -> list[int]:
        """Values that mean nothing, sorted; a mask has none above 255."""
        unknown = {int(v) for v in values} - self.ids.keys() - self.void
        return sorted(v for v in unknown if v > 255 or self.others is None)

    def table(self, channels: Mapping[int, int]) -> np.ndarray:
        """Lookup (256, ) from value to channel; 0 for other classes."""
        rest = VOID if self.others is None else channels.get(self.others, 0)
        table = np.full(256, rest, dtype=np.uint8)
        for value, class_id in self.ids.items():
            table[value] = channels.get(class_id, 0)
        table[list(self.void)] = VOID
        return table


def named_map(labels: Mapping, ids: Mapping[str, int]) -> LabelMap:
    """Label map of values by name; ``ids`` are those of the learnt names.

    Value 0 is background where nothing else is said.
    """
    found, others = {}, None
    if 'background' in ids and 'background' not in labels:
        found[0] = 0
    for name, values in labels.items():
        if values == OTHERS:
            others = ids.get(name, UNLEARNT)
        elif name != 'void':
            found.update(dict.fromkeys(values, ids.get(name, UNLEARNT)))
    void = frozenset(labels.get('void', ())) | ({VOID} - found.keys())
    return LabelMap(found, others, void)


def names_classes(steps: object) -> bool:
    """Whether some steps are dicts, which :func:`read_steps` reads."""
    return isinstance(steps, Sequence) and any(
        isinstance(step, Mapping) for step in steps)


def read_steps(steps: Sequence, given: int | None, usual: int | None,
               least: int) -> dict:
    """Fields of a scenario from steps, some of which name their classes.

    ``given`` and ``usual`` are ``num_classes`` of the config's dataset, as the
    config has it and of a known dataset; ``least`` is the same where all
    classes have names: 1 with background.
    """
    steps = [_tidy(step, f'Step {t}') for t, step in enumerate(steps)]
    by_id = any(isinstance(c, int) for s in steps for c in s['classes'])
    first = (given or usual) if by_id else least
    if first is None:
        raise ValueError('Some steps are class ids: give num_classes of the '
                         'dataset that has them.')
    if given and not by_id:
        raise ValueError('num_classes is of no use where all classes have '
                         'names: leave it out.')
    if by_id and any(isinstance(c, str) for s in steps if 'data' not in s
                     for c in s['classes']):
        raise TypeError("Steps of the config's dataset have ids and names: "
                        'give the classes of all of them in one way.')
    names = {}
    ids = [[_class_id(c, t, names, first, least) for c in step['classes']]
           for t, step in enumerate(steps)]
    data = [_step_data(step['data'], f'Step {t}') if 'data' in step else None
            for t, step in enumerate(steps)]
    for t, own in enumerate(data):
        if own is not None and own.labels is not None:
            _check_labels(own, t, ids[t], names)
    return dict(steps=ids, num_classes=first + len(names), names=list(names),
                data=data)


def _tidy(step: object, where: str) -> Mapping:
    if not isinstance(step, Mapping):
        step = dict(classes=step)
    _check_keys(step, STEP_KEYS, where)
    classes = step.get('classes')
    if isinstance(classes, str) or not isinstance(classes, Sequence):
        raise TypeError(f'{where} has classes={classes!r}: give a list of '
                        "names, such as ['car'].")
    return step


def _class_id(name: object, t: int, names: dict, first: int,
              least: int) -> int:
    if not isinstance(name, str):
        return whole_number(name, f'A class of step {t}')
    if name == 'background' and least:
        if t:
            raise ValueError(
                f'Step {t} learns background, which belongs to step 0: take '
                'it out.')
        return 0
    if name in ('void', OTHERS):
        raise ValueError(f'Step {t} learns {name!r}, a word that labels have '
                         'for something else: choose another name.')
    if name in names:
        raise ValueError(
            f'{name!r} is in step {names[name][1]} and again in step {t}: '
            'every class belongs to one step.')
    names[name] = first + len(names), t
    return names[name][0]


def _step_data(given: object, where: str) -> StepData:
    if given is None:
        return StepData(train=False, test=False)
    if not isinstance(given, Mapping):
        raise TypeError(f'{where} has data={given!r}: give a dict with train '
                        'and test, or None where the data are gone.')
    _check_keys(given, DATA_KEYS, f'{where}, data')
    old = given.get('old') or OLD[0]
    if old not in OLD:
        raise ValueError(unknown('old', old, OLD))
    labels = given.get('labels')
    if labels is not None:
        if not isinstance(labels, Mapping):
            raise TypeError(f'{where} has labels={labels!r}: give the values '
                            'in the masks by name, such as dict(car=7).')
        labels = {str(n): _values(v, n, where) for n, v in labels.items()}
    return StepData(labels, old, bool(given.get('train')),
                    bool(given.get('test')))


def _values(values: object, name: str, where: str) -> list | str:
    if values == OTHERS:
        return OTHERS
    found = values if isinstance(values, (list, tuple)) else [values]
    if not found or any(isinstance(v, bool) or not isinstance(v, int) or v < 0
                        for v in found):
        raise TypeError(
            f'{where} has labels {name}={values!r}: give a label value, a '
            f'list of them, or {OTHERS!r}.')
    return list(found)


def _check_labels(own: StepData, t: int, ids: list, names: Mapping) -> None:
    for name in own.labels:
        if name not in (*names, 'background', 'void'):
            raise ValueError(
                unknown(f'class in the labels of step {t}', name,
                        (*names, 'background', 'void')) +
                ' A class that no step learns is background.')
    missing = [name for name, (c, _) in names.items()
               if c in ids and name not in own.labels]
    if missing:
        raise ValueError(
            f'Step {t} learns {missing[0]!r}, but its labels do not say '
            f'which value that is: add {missing[0]}=... to labels.')
    owner, rest = {}, None
    for name, values in own.labels.items():
        if values == OTHERS:
            if rest is not None or name == 'void':
                raise ValueError(f"In the labels of step {t} {name} cannot "
                                 f'have {OTHERS!r}: give its values.')
            rest = name
            continue
        for value in values:
            if owner.setdefault(value, name) != name:
                raise ValueError(
                    f'In the labels of step {t} the value {value} means '
                    f'both {owner[value]!r} and {name!r}: leave one out.')
    old = [name for name, (_, step) in names.items() if step < t]
    if own.old == 'labelled' and not {*old} & own.labels.keys():
        raise ValueError(
            f"Step {t} has old='labelled', but its labels name no class of "
            'an earlier step: name them, or leave old out.')


def _check_keys(given: Mapping, known: Sequence[str], where: str) -> None:
    for key in given:
        if key not in known:
            raise TypeError(f'{where}: ' + unknown('key', key, known))
