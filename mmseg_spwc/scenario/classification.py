"""A scenario of classification: which task is learnt at which step.

It knows ids, channels and heads; images are the matter of
:mod:`mmseg_spwc.scenario.classification_splits`, names such as ``10x10`` of
:mod:`mmseg_spwc.scenario.catalogue`.
"""
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import ClassVar

import numpy as np

from .checks import (
    check_classification,
    check_classification_words,
    flag,
    number,
    plain_steps,
    seed_number,
    whole_number,
)
from .old_words import in_old_words
from .scenario import Scenario, digest


@dataclass(frozen=True)
class ClassificationScenario(Scenario):
    """A sequence of classification tasks, one per step.

    A class id is the raw label. Channels are numbered in the order of
    learning: the classes of step 0 in the order written there, then those
    of step 1, and so on. Nothing is background.

    Args:
        dataset: Name of the dataset.
        name: Name of the split, such as ``10x10``.
        kind: ``task``: the classes are split, the task is known at test and
            has a head of its own. ``class``: the classes are split, one head
            grows, the task is not known. ``domain``: all classes in every
            step, with other images.
        steps: Class ids learnt at each step; for domains one label per step.
        num_classes: Number of class ids.
        heads: ``shared`` or ``per_step`` (one for each). None takes
            ``per_step`` for the kind ``task`` and ``shared`` for the others.
        permute: Domains only: every step, the first too, shuffles the pixels
            of all images by a permutation of its own.
        turns: With ``permute``: how many data sets the steps take in turn.
            Step t takes the images of data set t modulo ``turns``; with 1
            every step takes all images.
        noise: Standard deviation of the noise on the last step's images, as
            a share of the range of pixel values. It rises evenly from none
            at step 0, so that tasks get harder.
        rotation: The same for turns by a random angle, at the last step up
            to plus or minus so many degrees.
        seed: Seed of a random class order, of the permutations and of the
            held-out split.
        partial: Allow classes that no step learns.
    """

    problem: ClassVar[str] = 'classification'
    has_background: ClassVar[bool] = False

    dataset: str
    name: str
    kind: str
    steps: tuple[tuple[int | str, ...], ...]
    num_classes: int
    heads: str | None = None
    permute: bool = False
    seed: int = 0
    partial: bool = False
    turns: int = 1
    noise: float = 0.
    rotation: float = 0.

    def __post_init__(self) -> None:
        if self.heads is None:
            heads = 'per_step' if self.kind == 'task' else 'shared'
            object.__setattr__(self, 'heads', heads)
        check_classification_words(self)
        tidy = {
            'name': str(self.name),
            'steps': plain_steps(self.steps, self.kind),
            'num_classes': whole_number(self.num_classes, 'num_classes'),
            'permute': flag(self.permute, 'permute'),
            'seed': seed_number(self.seed),
            'partial': flag(self.partial, 'partial'),
            'turns': whole_number(self.turns, 'turns'),
            'noise': number(self.noise, 'noise'),
            'rotation': number(self.rotation, 'rotation'),
        }
        for field, value in tidy.items():
            object.__setattr__(self, field, value)
        check_classification(self)

    @property
    def label(self) -> str:
        return f'{self.name}-{self.kind}'

    def new_classes(self, t: int) -> tuple[int, ...]:
        """Id of every channel that step t adds."""
        self.check_step(t)
        if self.kind == 'domain' and self.heads == 'shared' and t > 0:
            return ()
        return self.task_classes(t)

    def task_classes(self, task: int) -> tuple[int, ...]:
        """Ids that the samples of a task have as labels."""
        self.check_step(task)
        if self.kind == 'domain':
            return tuple(range(self.num_classes))
        return self.steps[task]

    def seen_classes(self, t: int) -> tuple[int, ...]:
        """Id of every channel after step t; heads may repeat them."""
        return self.old_classes(t) + self.new_classes(t)

    def new_channels(self, t: int) -> int:
        """Number of output channels that step t adds."""
        return len(self.new_classes(t))

    def head_of(self, task: int) -> tuple[int, int]:
        """First channel and number of channels that answer for a task."""
        if self.kind == 'class':
            raise ValueError(
                "A scenario of kind 'class' has one growing head and no head "
                'of a task: use num_channels(step).')
        first = 0 if self.heads == 'shared' else len(self.old_classes(task))
        return first, len(self.task_classes(task))

    def channel_table(self, task: int) -> np.ndarray:
        """Lookup from raw label to channel for the samples of a task.

        Returns:
            np.ndarray: int64, shape (num_classes, ), -1 where the class is
            not of that task (kind ``class``: is not seen after that step).
        """
        if self.kind == 'class':
            first, classes = 0, self.seen_classes(task)
        else:
            first, classes = self.head_of(task)[0], self.task_classes(task)
        table = np.full(self.num_classes, -1, dtype=np.int64)
        table[list(classes)] = np.arange(first, first + len(classes))
        return table

    def task_of_class(self) -> dict[int, int]:
        """Step that learns each class id."""
        if self.kind == 'domain':
            raise ValueError("In a scenario of kind 'domain' every step has "
                             'all classes: a class is of no single task.')
        return {c: t for t, step in enumerate(self.steps) for c in step}

    def permutation(self, task: int, size: int) -> np.ndarray:
        """Order in which a task takes the pixels of an image.

        It depends on ``seed``, task and size alone.

        Args:
            task: The task.
            size: Number of pixels.

        Returns:
            np.ndarray: int64, shape (size, ): new pixel i is old pixel
            ``order[i]``.
        """
        self.check_step(task)
        if not self.permute:
            raise ValueError(f'Scenario {self.dataset} {self.name} permutes '
                             'no pixels: set permute=True.')
        order = np.random.default_rng((self.seed, task, size))
        return order.permutation(size).astype(np.int64)

    def level(self, task: int) -> float:
        """Share of ``noise`` and ``rotation`` that a task has, 0 to 1."""
        self.check_step(task)
        return task / max(self.num_steps - 1, 1)

    def class_names(self, names: Sequence[str], t: int) -> tuple[str, ...]:
        """Names in channel order after step t.

        Args:
            names: Names of all classes in the order of their ids. Where
                heads repeat them, ``@`` and the step are appended.
            t: The step.
        """
        if len(names) != self.num_classes:
            raise ValueError(
                f'Got {len(names)} names for {self.dataset}, which has '
                f'{self.num_classes} classes: give one for each.')
        chosen = [names[c] for c in self.seen_classes(t)]
        if self.kind == 'domain' and self.heads == 'per_step':
            steps = self.step_of_channel(t)
            pairs = zip(chosen, steps, strict=True)
            chosen = [f'{name}@{step}' for name, step in pairs]
        return tuple(chosen)

    def to_dict(self) -> dict:
        steps = [list(step) for step in self.steps]
        return {'problem': self.problem, **asdict(self), 'steps': steps}

    @classmethod
    def from_dict(cls, data: Mapping) -> 'ClassificationScenario':
        return cls(**{k: v for k, v in data.items() if k != 'problem'})

    def facts(self) -> dict:
        facts = in_old_words(self.to_dict())
        for field in fields(self):  # these are younger than many digests
            if field.name in ('turns', 'noise', 'rotation') and \
                    facts[field.name] == field.default:
                del facts[field.name]
        return facts

    @property
    def num_sources(self) -> int | None:
        """How many data sets there must be; None if that does not matter."""
        if self.kind != 'domain' or (self.permute and self.turns == 1):
            return None
        return self.turns if self.permute else self.num_steps

    @property
    def base_hash(self) -> str:
        """SHA-256 (hex) of all that step 0 depends on.

        Scenarios with equal ``base_hash`` train the same model at step 0:
        what the later steps hold does not matter.
        """
        later = ('name', 'partial', 'noise', 'rotation')
        facts = {k: v for k, v in self.facts().items() if k not in later}
        return digest({**facts, 'steps': facts['steps'][:1]})
