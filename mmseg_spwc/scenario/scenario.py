"""What every scenario can tell of its steps, whatever its problem."""
import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar


class Scenario(ABC):
    """Steps in time, each of which adds classes and output channels.

    A subclass is a dataclass with the fields ``dataset``, ``name`` and
    ``steps``, and says which ``problem`` it poses.
    """

    problem: ClassVar[str]

    @property
    @abstractmethod
    def label(self) -> str:
        """Name and setting in one word, for folders and runs."""

    @abstractmethod
    def new_classes(self, t: int) -> tuple[int, ...]:
        """Ids first learnt at step t."""

    @abstractmethod
    def new_channels(self, t: int) -> int:
        """Number of output channels that step t adds."""

    @abstractmethod
    def to_dict(self) -> dict:
        """Plain data that JSON and MMEngine configs can hold."""

    @classmethod
    def from_dict(cls, data: Mapping) -> 'Scenario':
        return cls(**data)

    @property
    def num_steps(self) -> int:
        return len(self.steps)

    def check_step(self, t: int) -> None:
        """Refuse a step that does not exist."""
        if not 0 <= t < self.num_steps:
            raise IndexError(
                f'Scenario {self.dataset} {self.name} has no step {t}: give '
                f'a step from 0 to {self.num_steps - 1}.')

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

    @property
    def hash(self) -> str:
        """SHA-256 (hex) of the whole scenario."""
        return digest(self.facts())

    def facts(self) -> dict:
        """What digests are made of."""
        return self.to_dict()


def digest(facts: dict) -> str:
    """SHA-256 (hex) of plain data, whatever the order of its keys."""
    text = json.dumps(facts, sort_keys=True, separators=(',', ':'))
    return hashlib.sha256(text.encode()).hexdigest()
