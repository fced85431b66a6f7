"""What every scenario can tell of its steps, whatever its problem."""
import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from typing import ClassVar

from .checks import flag, number, plain_steps, unknown, whole_number
from .step_data import LabelMap, StepData, named_map

ROLES = ('train', 'heldout', 'test')
# fields that do not decide what a single step is
OF_ALL_STEPS = ('name', 'dataset', 'steps', 'num_classes', 'partial', 'names',
                'data')
# what makes plain values of fields, by their type hint
PLAIN = {int: whole_number, float: number, bool: flag,
         str: lambda value, name: str(value)}


class Scenario(ABC):
    """Steps in time, each of which adds classes and output channels.

    A subclass is a dataclass with the fields ``dataset``, ``name``, ``kind``,
    ``steps``, ``num_classes``, ``partial``, ``names`` and ``data``. It says
    which ``problem`` it poses, and which ``words`` some fields may hold.

    ``names`` are those of the last class ids, if the scenario names them;
    ``data`` has a :class:`StepData` for each step with data of its own, and
    None for a step of the config's dataset; empty if all are.
    """

    problem: ClassVar[str]
    words: ClassVar[Mapping]
    first_id: ClassVar[int]  # of the classes that are not background
    has_background: bool
    label_offset: int

    def __post_init__(self) -> None:
        for name, known in self.words.items():
            if getattr(self, name) not in known:
                raise ValueError(unknown(name, getattr(self, name), known))
        for field in fields(self):
            if field.type in PLAIN:
                value = PLAIN[field.type](getattr(self, field.name),
                                          field.name)
                object.__setattr__(self, field.name, value)
        object.__setattr__(self, 'steps', self._plain_steps())
        object.__setattr__(self, 'names', tuple(self.names))
        object.__setattr__(self, 'data', tuple(
            StepData(**own) if isinstance(own, Mapping) else own
            for own in self.data))
        self.check()

    def _plain_steps(self) -> tuple[tuple, ...]:
        return plain_steps(self.steps, self.kind)

    @abstractmethod
    def check(self) -> None:
        """Refuse fields that contradict each other or the dataset."""

    def check_steps(self) -> None:
        """Refuse an empty step, and what is in two steps."""
        if not self.steps:
            raise ValueError('The scenario has no steps: give at least one.')
        unit = 'domain' if self.kind == 'domain' else 'class'
        step_of = {}
        for t, step in enumerate(self.steps):
            if not step:
                raise ValueError(
                    f'Step {t} learns nothing: put a {unit} into it or '
                    'remove it.')
            for item in step:
                if item in step_of:
                    raise ValueError(
                        f'{item!r} is in step {step_of[item]} and again in '
                        f'step {t}: every {unit} belongs to one step.')
                step_of[item] = t

    def check_learnt(self, first: int, note: str, otherwise: str) -> None:
        """Refuse ids from ``first`` on that do not exist or are left out."""
        known = set(range(first, self.num_classes))
        learnt = {c for step in self.steps for c in step}
        if learnt - known:
            raise ValueError(
                f'Class ids {sorted(learnt - known)} are out of range: ids '
                f'go from {first} to {self.num_classes - 1}{note}.')
        if known - learnt and not self.partial:
            raise ValueError(
                f'No step learns the classes {sorted(known - learnt)}: add '
                f'them to a step, or set partial=True to {otherwise}.')

    def check_num_classes(self, least: int, most: int) -> None:
        if not least <= self.num_classes <= most:
            raise ValueError(f'num_classes is {self.num_classes}: give a '
                             f'number from {least} to {most}.')

    @property
    @abstractmethod
    def label(self) -> str:
        """Name and setting in one word, for folders and runs."""

    @abstractmethod
    def new_classes(self, t: int) -> tuple[int, ...]:
        """Ids first learnt at step t."""

    def new_channels(self, t: int) -> int:
        """Number of output channels that step t adds."""
        return len(self.new_classes(t))

    def seen_classes(self, t: int) -> tuple[int, ...]:
        """Id of every channel after step t."""
        return self.old_classes(t) + self.new_classes(t)

    @property
    def num_steps(self) -> int:
        return len(self.steps)

    def check_step(self, t: int) -> None:
        """Refuse a step that does not exist."""
        if not 0 <= t < self.num_steps:
            raise IndexError(
                f'Scenario {self.dataset} {self.name} has no step {t}: give '
                f'a step from 0 to {self.num_steps - 1}.')

    def steps_of(self, role: str, t: int, cumulative: bool = False) -> range:
        """Steps whose samples play a role at step t."""
        self.check_step(t)
        if role not in ROLES:
            raise ValueError(f"A role is 'train', 'heldout' or 'test', not "
                             f'{role!r}.')
        alone = role == 'train' and not cumulative
        return range(t if alone else 0, t + 1)

    def source_of(self, t: int) -> int | None:
        """Whose data a step has: its own, or None, the config's dataset."""
        return t if self.data and self.data[t] is not None else None

    def first_step_of(self, source: int | None) -> int:
        """The first step whose data a dataset has."""
        return next(t for t in range(self.num_steps)
                    if self.source_of(t) == source)

    def has_data(self, t: int, role: str) -> bool:
        """Whether there are images of step t for a role."""
        source = self.source_of(t)
        return source is None or self.data[source].has(role)

    def sources(self, role: str, t: int, cumulative: bool = False) -> dict:
        """Datasets that play a role at step t, each with its steps."""
        found = {}
        for s in self.steps_of(role, t, cumulative):
            if self.has_data(s, role):
                found.setdefault(self.source_of(s), []).append(s)
        return found

    def label_map(self, source: int | None = None,
                  names: Sequence[str] | None = None) -> LabelMap:
        """What the label values of a dataset mean, which may name its classes
        by label value.
        """
        own = None if source is None else self.data[source]
        first = self.num_classes - len(self.names)
        if own is None and first > self.has_background:
            return LabelMap({c - self.label_offset: c
                             for c in range(self.label_offset, first)})
        ids = {n: i for i, n in enumerate(self.names, start=first)}
        if self.has_background:
            ids['background'] = 0
        if own is not None and own.labels is not None:
            return named_map(own.labels, ids)
        return named_map({n: [v] for v, n in enumerate(names or ())}, ids)

    def check_labelled(self, source: int | None, labels: LabelMap,
                       names: Sequence[str] | None) -> None:
        """Refuse data that do not say which label is a class they bring.

        ``names`` are the dataset's own, by label value.
        """
        missing = [name for t in range(self.num_steps)
                   if self.source_of(t) == source for c, name in zip(
                       self.steps[t], self.called(t), strict=True)
                   if c not in labels.ids.values() and c != labels.others]
        if missing:
            raise ValueError(
                f'The data of step {self.first_step_of(source)} do not say '
                f'which label is {", ".join(missing)}: their dataset names '
                f'{", ".join(names or ["no class"])}. Give data.labels, such '
                f'as labels={{{missing[0]!r}: 7}}, or the names in the order '
                'of the labels (metainfo, classes).')

    def step_facts(self, t: int) -> dict:
        """All that decides what step t learns, and from which labels.

        Plain data, to be compared field by field with :func:`changed_facts`.
        It stays as it is when steps are added at the end, unless the setting
        lets later classes decide about earlier images (see ``later``).
        """
        self.check_step(t)
        facts = {f.name: getattr(self, f.name) for f in fields(self)
                 if f.name not in OF_ALL_STEPS}
        own = self.data[t] if self.data else None
        return dict(
            facts,
            problem=self.problem,
            classes=self._called(self.steps[t]),
            channels=self.new_channels(t),
            first_channel=sum(self.channels(t)[:-1]),
            data='config' if own is None else
            'own' if own.train or own.test else 'gone',
            labels=None if own is None else own.labels,
            old=None if own is None else own.old,
            **self._later_facts(t))

    def called(self, t: int) -> list[str]:
        """Classes (domains) of step t as the scenario writes them."""
        return [str(c) for c in self._called(self.steps[t])]

    def _called(self, classes: Sequence) -> list:
        """Classes by name where the scenario names them, else by id."""
        first = self.num_classes - len(self.names)
        return [self.names[c - first] if self.names and c >= first else c
                for c in classes]

    def _later_facts(self, t: int) -> dict:
        """What of a step depends on later steps."""
        return {}

    def check_names(self, names: Sequence[str]) -> None:
        """Refuse two classes of one name, which no table could tell apart."""
        twice = [name for i, name in enumerate(names) if name in names[:i]]
        if twice:
            raise ValueError(
                f'Two classes of {self.dataset} are called {twice[0]!r}: '
                'give every class a name of its own (metainfo, classes).')

    def old_classes(self, t: int) -> tuple[int, ...]:
        """Ids learnt before step t in channel order, without background."""
        self.check_step(t)
        return tuple(c for s in range(t) for c in self.new_classes(s))

    def channels(self, t: int) -> tuple[int, ...]:
        """Number of channels added by each of the steps 0 to t."""
        self.check_step(t)
        return tuple(self.new_channels(s) for s in range(t + 1))

    def num_channels(self, t: int) -> int:
        """Number of output channels after step t."""
        return sum(self.channels(t))

    def base_channels(self) -> int:
        """Number of channels of step 0."""
        return self.new_channels(0)

    def step_of_channel(self, t: int) -> tuple[int, ...]:
        """Step that added each of the channels present after step t."""
        return tuple(
            s for s, size in enumerate(self.channels(t)) for _ in range(size))

    def to_dict(self) -> dict:
        """Plain data that JSON and MMEngine configs can hold."""
        return {'problem': self.problem, **self.fields(),
                'steps': [list(step) for step in self.steps]}

    def fields(self) -> dict:
        """All fields as plain data; ``names`` and ``data`` if they are set."""
        facts = asdict(self)
        for key in ('names', 'data'):
            own = facts.pop(key)
            facts.update({key: list(own)} if own else {})
        return facts

    @property
    def hash(self) -> str:
        """SHA-256 (hex) of the whole scenario."""
        return digest(self.fields())

    @property
    def base_hash(self) -> str:
        """SHA-256 (hex) of all that step 0 depends on.

        Scenarios with equal ``base_hash``, such as 10-1 and 10-5, train the
        same model at step 0.
        """
        return digest(self.step_facts(0) if self.data else self.base_facts())

    @abstractmethod
    def base_facts(self) -> dict:
        """What step 0 depends on."""


def changed_facts(before: Mapping, after: Mapping) -> dict[str, tuple]:
    """Fields in which two :meth:`Scenario.step_facts` differ: both values.

    Data that are gone in one of the two do not count as a difference.
    """
    passed = set()
    if 'gone' in (before.get('data'), after.get('data')):
        passed = {'data', 'labels', 'old'}
    return {key: (before.get(key), after.get(key))
            for key in dict.fromkeys((*before, *after))
            if key not in passed and before.get(key) != after.get(key)}


def digest(facts: dict) -> str:
    """SHA-256 (hex) of plain data, whatever the order of its keys."""
    text = json.dumps(facts, sort_keys=True, separators=(',', ':'))
    return hashlib.sha256(text.encode()).hexdigest()
