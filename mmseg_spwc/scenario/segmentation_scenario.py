"""A scenario of segmentation: what is learnt at which step.

It knows ids, channels and label values; images are handled by
:mod:`mmseg_spwc.scenario.segmentation_splits`, names such as ``10-1`` of
:mod:`mmseg_spwc.scenario.catalogue`.
"""
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mmseg_spwc.labels import VOID

from .scenario import Scenario
from .step_data import LabelMap

SETTINGS = ('overlapped', 'disjoint', 'sequential', 'partitioned')


@dataclass(frozen=True)
class SegmentationScenario(Scenario):
    """Classes of pixels (or domains) that arrive step by step.

    A class id is the raw label of a mask plus ``label_offset``. Channels are
    numbered in the order of learning: background, then the classes of step 0,
    then those of step 1, and so on. A class in no step (see ``partial``) is
    background for ever.

    Args:
        dataset: Name of the dataset.
        name: Name of the class order, such as ``10-1``.
        setting: ``overlapped``, ``disjoint``, ``sequential`` or
            ``partitioned``; decides images and labels of a training step.
        steps: Class ids (domain names) learnt at each step. Background is
            id 0 and belongs to step 0, written there or not.
        num_classes: Number of class ids, background included.
        kind: ``class``: classes arrive, background exists. ``domain``: the
            classes are fixed, without background, and domains arrive.
        future: In a test, classes of later steps count as ``background`` or
            are left out (``ignore``).
        label_offset: 1 where raw label 0 is a true class, so that id 0 stays
            free for background.
        void: In training, raw label 255 is left out (``ignore``) or counts
            as ``background``.
        domain_pattern: Regular expression whose one group finds the domain
            in the base name of an image.
        test_ratio: Share of every domain's images kept for testing.
        partial: Allow classes that no step learns.
        names: Names of the last class ids, if the steps name them.
        data: What is known of data that belong to one step alone, by step.
    """

    problem: ClassVar[str] = 'segmentation'
    first_id: ClassVar[int] = 1
    words: ClassVar[dict] = dict(
        setting=SETTINGS,
        kind=('class', 'domain'),
        future=('background', 'ignore'),
        void=('ignore', 'background'),
        label_offset=(0, 1))

    dataset: str
    name: str
    setting: str
    steps: tuple[tuple[int | str, ...], ...]
    num_classes: int
    kind: str = 'class'
    future: str = 'background'
    label_offset: int = 0
    void: str = 'ignore'
    domain_pattern: str | None = None
    test_ratio: float = 0.0
    partial: bool = False
    names: tuple[str, ...] = ()
    data: tuple = ()

    def _plain_steps(self) -> tuple[tuple, ...]:
        steps = super()._plain_steps()
        if self.kind == 'class' and steps:  # background is implicit
            first = tuple(c for c in steps[0] if c != 0)
            return (first, *steps[1:])
        return steps

    def check(self) -> None:
        self.check_steps()
        for t, own in enumerate(self.data):
            values = [v for found in ((own and own.labels) or {}).values()
                      if not isinstance(found, str) for v in found]
            if max(values, default=0) > VOID:
                raise ValueError(f'A mask has no label above {VOID}, but '
                                 f'those of step {t} have {max(values)}: '
                                 'convert the masks.')
        self.check_num_classes(2 if self.kind == 'class' else 1, VOID)
        if self.kind == 'class':
            if self.domain_pattern is not None or self.test_ratio:
                raise ValueError(
                    "domain_pattern and test_ratio need kind='domain': "
                    'remove them or set the kind.')
            self.check_learnt(
                1, ', and background (0) may be written in step 0 only',
                'leave them background')
            return
        if self.label_offset or self.void == 'background':
            raise ValueError("A scenario of kind 'domain' has no background: "
                             "leave label_offset at 0 and void at 'ignore'.")
        if not 0 <= self.test_ratio < 1:
            raise ValueError(f'test_ratio is {self.test_ratio}: give a share '
                             'from 0 to below 1.')
        if self._num_groups() != 1:
            raise ValueError(
                f'domain_pattern is {self.domain_pattern!r}: give a regular '
                'expression with one group that finds the domain, such as '
                "r'^([a-z]+)_'.")

    def _num_groups(self) -> int:
        try:
            return re.compile(self.domain_pattern or '').groups
        except re.error as error:
            raise ValueError(
                f'domain_pattern {self.domain_pattern!r} is not a regular '
                f'expression ({error}): correct it.') from error

    @property
    def label(self) -> str:
        if self.kind == 'domain':  # has no setting
            return self.name
        return f'{self.name}-{self.setting}'

    @property
    def has_background(self) -> bool:
        return self.kind == 'class'

    def new_classes(self, t: int) -> tuple[int, ...]:
        """Ids first learnt at step t, without background."""
        self.check_step(t)
        if self.kind == 'class':
            return self.steps[t]
        return tuple(range(self.num_classes)) if t == 0 else ()

    def seen_classes(self, t: int) -> tuple[int, ...]:
        """Id of every channel after step t, background first."""
        background = (0, ) if self.has_background else ()
        return background + self.old_classes(t) + self.new_classes(t)

    def new_channels(self, t: int) -> int:
        """Number of output channels that step t adds."""
        return len(self.new_classes(t)) + (self.has_background and t == 0)

    def train_table(self, t: int, labels: LabelMap | None = None,
                    source: int | None = None) -> np.ndarray:
        """Lookup (256, ) from label value to channel for training at step t.

        Only the new classes are labelled, and the old ones where the setting
        is ``sequential`` or the data say so; all others are 0.
        """
        own = None if source is None else self.data[source]
        labelled = set(self.seen_classes(t))
        if self.kind == 'class' and self.setting != 'sequential' and (
                own is None or own.old != 'labelled'):
            labelled = {0, *self.new_classes(t)}
        table = self._table(t, labelled, labels)
        if self.void == 'background':
            table[VOID] = 0
        return table

    def test_table(self, t: int,
                   labels: LabelMap | None = None) -> np.ndarray:
        """Lookup (256, ) from label value to channel for testing after step t.

        Every seen class is labelled; classes of later steps are 0 or 255, as
        ``future`` says.
        """
        labels = labels or self.label_map()
        table = self._table(t, set(self.seen_classes(t)), labels)
        if self.kind == 'class' and self.future == 'ignore':
            later = [c for step in self.steps[t + 1:] for c in step]
            table[list(labels.values(later))] = VOID
        return table

    def _table(self, t: int, labelled: set[int],
               labels: LabelMap | None) -> np.ndarray:
        channels = {c: i for i, c in enumerate(self.seen_classes(t))
                    if c in labelled}
        return (labels or self.label_map()).table(channels)

    def unlabelled(self, t: int, labels: LabelMap) -> tuple[int, ...]:
        """Channels after step t that the labels of a dataset do not tell
        from background."""
        return tuple(i for i, c in enumerate(self.seen_classes(t))
                     if c and not labels.labels(c))

    def check_labels(self, raw_values: Iterable[int], where: str,
                     labels: LabelMap | None = None) -> None:
        """Refuse label values of a mask, ``where``, that mean nothing."""
        labels = labels or self.label_map()
        wrong = ', '.join(map(str, labels.wrong(raw_values)))
        if not wrong:
            return
        if self.data:
            raise ValueError(
                f'{where} holds the label {wrong}, which no class of its step '
                'has: name it in labels, for instance as background '
                "(background='others' is all the rest) or void.")
        top = max(labels.ids)
        raise ValueError(
            f'{where} holds the label {wrong}, but labels of {self.dataset} '
            f'go from 0 to {top}, with {VOID} for void: convert the mask, or '
            'correct num_classes.')

    def class_names(self, names: Sequence[str], t: int) -> tuple[str, ...]:
        """Names in channel order after step t.

        ``names`` are those of all classes that the scenario does not name
        itself, by id; ``background`` is added in front where it is not among
        them.
        """
        named = tuple(self._by_channel(names, 'background', self.names, t))
        self.check_names(named)
        return named

    def palette(self, palette: Sequence[Sequence[int]], t: int,
                own: Sequence[Sequence[int]] = ()) -> list[list[int]]:
        """Colours in channel order, given as :meth:`class_names` are.

        ``own`` are those of the classes that the scenario names.
        """
        return [list(c)
                for c in self._by_channel(palette, (0, 0, 0), own, t)]

    def _by_channel(self, values: Sequence, background: Any, own: Sequence,
                    t: int) -> list:
        first = self.num_classes - len(self.names)
        values = list(values) if first > self.has_background else []
        if self.has_background and len(values) == first - 1:
            values.insert(0, background)
        if len(values) != first:
            raise ValueError(
                f'Got {len(values)} names or colours for {self.dataset}, '
                f'which has {first} class ids: give one for each.')
        values.extend(own)
        return [values[c] for c in self.seen_classes(t)]

    def _later_facts(self, t: int) -> dict:
        if self.kind == 'domain' or (self.setting == 'overlapped' and
                                     self.future == 'background'):
            return {}
        if self.setting == 'partitioned':
            return dict(later=[self._called(s) for s in self.steps])
        later = [c for step in self.steps[t + 1:] for c in step]
        return dict(later=sorted(self._called(later), key=str))

    def base_facts(self) -> dict:
        """Without the grouping of later classes, unless images are dealt out
        among the steps (``partitioned``)."""
        facts = self.fields()
        del facts['name'], facts['partial']
        if self.kind == 'domain':
            facts['steps'] = facts['steps'][:1]
        elif self.setting != 'partitioned':
            later = sorted(c for step in self.steps[1:] for c in step)
            facts['steps'] = [facts['steps'][0], later]
        return facts
