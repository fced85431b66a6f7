"""A scenario of classification: which task is learnt at which step.

It knows ids, channels and heads; images are handled by
:mod:`mmseg_spwc.scenario.classification_splits`, names such as ``10x10`` of
:mod:`mmseg_spwc.scenario.catalogue`.
"""
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .checks import seed_number
from .scenario import Scenario

MOST_CLASSES = 1_000_000
HEADS = {'task': ('per_step', ), 'class': ('shared', ),
         'domain': ('shared', 'per_step')}


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
        turns: With ``permute``: how many datasets the steps take in turn.
            Step t takes the images of dataset t modulo ``turns``; with 1
            every step takes all images.
        noise: Standard deviation of the noise on the last step's images, as
            a share of the range of pixel values. It rises evenly from none
            at step 0, so that tasks get harder.
        rotation: The same for turns by a random angle, at the last step up
            to plus or minus so many degrees.
        seed: Seed of a random class order, of the permutations and of the
            held-out split.
        partial: Allow classes that no step learns.
        names: Names of the last class ids, if the steps name them.
        data: What is known of data that belong to one step alone, by step.
    """

    problem: ClassVar[str] = 'classification'
    first_id: ClassVar[int] = 0
    has_background: ClassVar[bool] = False
    label_offset: ClassVar[int] = 0
    words: ClassVar[dict] = dict(kind=tuple(HEADS), heads=HEADS['domain'])

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
    names: tuple[str, ...] = ()
    data: tuple = ()

    def __post_init__(self) -> None:
        if self.heads is None:
            heads = 'per_step' if self.kind == 'task' else 'shared'
            object.__setattr__(self, 'heads', heads)
        super().__post_init__()

    def check(self) -> None:
        seed_number(self.seed)
        self._check_fields_together()
        self.check_num_classes(2, MOST_CLASSES)
        self.check_steps()
        if self.turns < 1:
            raise ValueError(f'turns is {self.turns}: give 1 or more.')
        for name in ('noise', 'rotation'):
            if not 0 <= getattr(self, name) < math.inf:
                raise ValueError(f'{name} is {getattr(self, name)}: give 0 '
                                 'or more.')
        if self.kind != 'domain':
            self.check_learnt(0, '', 'leave them out')
            return
        for t, step in enumerate(self.steps):
            if len(step) != 1:
                raise ValueError(
                    f'Step {t} has the domains {", ".join(step)}: give every '
                    'domain a step of its own.')

    def _check_fields_together(self) -> None:
        if self.heads not in HEADS[self.kind]:
            raise ValueError(
                f'A scenario of kind {self.kind!r} cannot have '
                f'heads={self.heads!r}: where the task is known every task '
                "has its head (kind='task'), where it is not there is one "
                "(kind='class'); leave heads out.")
        if self.permute and self.kind != 'domain':
            raise ValueError("permute needs kind='domain': the classes stay, "
                             'the pixels are shuffled.')
        if self.turns != 1 and not self.permute:
            raise ValueError('turns needs permute=True: a dataset that is '
                             'taken again is another task by its '
                             'permutation.')

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

    def head_of(self, task: int) -> tuple[int, int]:
        """First channel and number of channels that answer for a task."""
        if self.kind == 'class':
            raise ValueError(
                "A scenario of kind 'class' has one growing head and no head "
                'of a task: use num_channels(step).')
        first = 0 if self.heads == 'shared' else len(self.old_classes(task))
        return first, len(self.task_classes(task))

    def channel_table(self, task: int) -> np.ndarray:
        """Lookup (num_classes, ) from raw label to channel of a task.

        It is -1 where the class is not of that task (kind ``class``: is not
        seen after that step).
        """
        if self.kind == 'class':
            first, classes = 0, self.seen_classes(task)
        else:
            first, classes = self.head_of(task)[0], self.task_classes(task)
        table = np.full(self.num_classes, -1, dtype=np.int64)
        table[list(classes)] = np.arange(first, first + len(classes))
        return table

    def permutation(self, task: int, size: int) -> np.ndarray:
        """Order in which a task takes the pixels of an image, int64 (size, ).

        New pixel i is old pixel ``order[i]``. It depends on ``seed``, task
        and size alone.
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

        ``names`` are those of all classes, by id. Where heads repeat them,
        ``@`` and the step are appended.
        """
        first = self.num_classes - len(self.names)
        if first and len(names) != first:
            raise ValueError(
                f'{self.dataset} has {len(names)} classes by its names, but '
                f'the scenario counts {first}: correct num_classes, or name '
                'every class.')
        names = (*names[:first], *self.names)
        self.check_names(names)
        chosen = [names[c] for c in self.seen_classes(t)]
        if self.kind == 'domain' and self.heads == 'per_step':
            steps = self.step_of_channel(t)
            pairs = zip(chosen, steps, strict=True)
            chosen = [f'{name}@{step}' for name, step in pairs]
        return tuple(chosen)

    def _later_facts(self, t: int) -> dict:
        levels = self.noise or self.rotation
        return dict(level=self.level(t)) if levels else {}

    @property
    def num_sources(self) -> int | None:
        """How many datasets there must be; None if that does not matter."""
        if self.kind != 'domain' or (self.permute and self.turns == 1):
            return None
        return self.turns if self.permute else self.num_steps

    def base_facts(self) -> dict:
        """Without what only later steps hold."""
        later = ('name', 'partial', 'noise', 'rotation')
        facts = {k: v for k, v in self.fields().items() if k not in later}
        return {**facts, 'steps': facts['steps'][:1]}
