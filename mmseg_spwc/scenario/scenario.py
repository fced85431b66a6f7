"""What every scenario can tell of its steps, whatever its problem."""
import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import ClassVar

from .checks import flag, number, plain_steps, unknown, whole_number

ROLES = ('train', 'heldout', 'test')
# what makes plain values of fields, by their type hint
PLAIN = {int: whole_number, float: number, bool: flag,
         str: lambda value, name: str(value)}


class Scenario(ABC):
    """Steps in time, each of which adds classes and output channels.

    A subclass is a dataclass with the fields ``dataset``, ``name``, ``kind``,
    ``steps``, ``num_classes`` and ``partial``. It says which ``problem`` it
    poses, and which ``words`` some fields may hold.
    """

    problem: ClassVar[str]
    words: ClassVar[Mapping]

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
        return {'problem': self.problem, **asdict(self),
                'steps': [list(step) for step in self.steps]}

    @property
    def hash(self) -> str:
        """SHA-256 (hex) of the whole scenario."""
        return digest(asdict(self))

    @property
    def base_hash(self) -> str:
        """SHA-256 (hex) of all that step 0 depends on.

        Scenarios with equal ``base_hash``, such as 10-1 and 10-5, train the
        same model at step 0.
        """
        return digest(self.base_facts())

    @abstractmethod
    def base_facts(self) -> dict:
        """What step 0 depends on."""


def digest(facts: dict) -> str:
    """SHA-256 (hex) of plain data, whatever the order of its keys."""
    text = json.dumps(facts, sort_keys=True, separators=(',', ':'))
    return hashlib.sha256(text.encode()).hexdigest()
