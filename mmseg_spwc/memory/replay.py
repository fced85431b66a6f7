"""The option ``replay`` of a step's training data."""
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from mmseg_spwc.utils.options import check_options, is_number, is_positive

from .policies import POLICIES, Sample, Steps, remember

LABELS = ('stored', 'seen', 'current')


@dataclass(frozen=True)
class Replay:
    """Samples of earlier steps that train a step again.

    Args:
        size (int): The most samples that are kept, over all steps.
        policy (str): ``'round_robin'`` (classes take turns), ``'balanced'``
            (as many of every class) or ``'reservoir'`` (any sample alike).
        labels (str): What is labelled on a replayed image to segment:
            ``'stored'``, the classes of the step that it comes from;
            ``'seen'``, all so far; or ``'current'``, those of the step that
            replays it. An image to classify has one label anyway.
        mix (str | float | dict): ``'append'``: once an epoch, among the
            others; ``'half'`` of every batch, or a share of it, a number or
            ``dict(share=...)``. An epoch then still is one pass over the
            step's own samples.
        seed (int): Of the choice.
        duplicates (bool): Replay also what belongs to the step anyway, as an
            image of ``overlapped`` may.
    """
    size: int
    policy: str = 'round_robin'
    labels: str = 'stored'
    mix: str | float | Mapping = 'append'
    seed: int = 0
    duplicates: bool = False

    def __post_init__(self) -> None:
        check_options(type(self), vars(self), 'replay')
        if not is_positive(self.size):
            raise ValueError(f'replay.size is {self.size!r}: give a whole '
                             'number above 0.')
        if self.seed < 0:
            raise ValueError(f'replay.seed is {self.seed}: give 0 or more.')
        for name, known in (('policy', POLICIES), ('labels', LABELS)):
            if getattr(self, name) not in known:
                raise ValueError(f'replay.{name} is {getattr(self, name)!r}: '
                                 f'it is one of {", ".join(known)}.')
        share = self.share
        if share is not None and not (is_number(share) and 0 < share < 1):
            raise ValueError(
                f"replay.mix is {self.mix!r}: it is 'append', 'half' or a "
                'share, a number between 0 and 1.')

    @classmethod
    def of(cls, options: Mapping | None, role: str = 'train',
           cumulative: bool = False) -> 'Replay | None':
        """Build it from the option of a step's dataset."""
        if options is None:
            return None
        if role != 'train' or cumulative:
            raise ValueError('replay is for the training images of one step: '
                             'leave it out where all steps are trained '
                             'together (cumulative) and where nothing is '
                             'trained.')
        unknown = sorted(set(options) - set(cls.__dataclass_fields__))
        if unknown or 'size' not in options:
            wrong = f'has no option {unknown[0]!r}' if unknown else \
                'needs a size'
            raise ValueError(f'replay {wrong}: its options are '
                             f'{", ".join(cls.__dataclass_fields__)}.')
        return cls(**options)

    @property
    def share(self) -> float | None:
        """Share of every batch that is replayed; None without one."""
        named = dict(append=None, half=.5)
        if isinstance(self.mix, Mapping):
            return self.mix['share'] if set(self.mix) == {'share'} else 0
        return named.get(self.mix, self.mix)

    def choose(self, steps: Steps,
               trained: Collection[str] = ()) -> list[Sample]:
        """Return what is replayed of all steps before, beside the samples
        that train the step itself."""
        kept = remember(steps, self.size, self.policy, self.seed)
        return [s for s in kept if self.duplicates or s.name not in trained]

    def facts(self, memory: Sequence[Sample], new: int,
              size: int | None) -> dict:
        """What the record tells of a step's memory, of ``size`` bytes."""
        return dict(
            images=len(memory), share=len(memory) / (len(memory) + new),
            bytes=size, policy=self.policy, labels=self.labels,
            names=[sample.name for sample in memory],
            steps=[sample.step for sample in memory])

    def shortages(self, kept: Iterable[Sample],
                  classes: Iterable[int]) -> list[str]:
        """Say what a memory lacks: samples, or ``classes`` that are known."""
        kept = list(kept)
        shown = Counter(c for sample in kept for c in sample.classes)
        absent = [str(c) for c in classes if c not in shown]
        said = []
        if len(kept) < self.size:
            said.append(f'there are {len(kept)} samples for a memory of '
                        f'{self.size}')
        if absent:
            said.append('none of the memory shows the old channels (domains) '
                        f'{", ".join(absent)}')
        return said
