"""First steps that a sequence takes from a checkpoint instead of training."""
import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path

from torch import nn

from mmseg_spwc.config.start import of_step, read_classes, start_path
from mmseg_spwc.errors import CheckpointError
from mmseg_spwc.models.growing import grown_state, joined_state
from mmseg_spwc.record import FILE_NAME, Record, inside
from mmseg_spwc.runtime.checkpoint import (
    Stamp,
    differences,
    facts_of,
    load_plain,
    load_step,
    load_weights,
)
from mmseg_spwc.scenario import Scenario
from mmseg_spwc.terminal import say, warn

BACKGROUND = 'background'
# a network may do without it, or have it where the file does not
AUXILIARY = 'auxiliary_head.'


@dataclasses.dataclass(frozen=True)
class Trained:
    """Weights of a plain network, and the class of each of their channels.

    ``classes`` is empty if the file names none, ``stamp`` None for a model
    that is no step of ours. ``branches``: see ``Student.carried_branches``.
    """
    path: str
    state: dict
    classes: list
    stamp: Stamp | None = None
    branches: dict | None = None

    @classmethod
    def read(cls, given: str | Mapping) -> 'Trained':
        """Read any step of ours, or a model of mmseg or MMPretrain."""
        path = start_path(given)
        if of_step(path):
            content = load_step(path)
            meta = content['meta'].get('dataset_meta') or {}
            return cls(path, content['state_dict'],
                       list(meta.get('classes') or ()), content['stamp'],
                       content.get('branches'))
        content = load_plain(path)
        state = content.get('state_dict', content)
        state = {k.removeprefix('module.'): v for k, v in state.items()
                 if hasattr(v, 'shape')}
        return cls(path, state, read_classes(given))

    def order(self, names: Sequence[str]) -> list:
        """Its channel of every class; None for a background it lacks."""
        return [self.classes.index(n) if n in self.classes else None
                for n in names]

    def knows(self, names: Sequence[str]) -> bool:
        """Whether these are its classes, with or without a background."""
        return {*names} - {BACKGROUND} == {*self.classes} - {BACKGROUND} and (
            BACKGROUND in names or BACKGROUND not in self.classes)

    def load(self, network: nn.Module, names: Sequence[str]) -> None:
        """Load the weights into a plain network with these classes."""
        state = self.state
        same = self.stamp and list(network.channels) == self.stamp.channels
        if not same or self.classes and self.classes != list(names):
            state = grown_state(
                joined_state(state), network, self.order(names), self.path)
        own = network.state_dict()
        state = {k: v for k, v in state.items()
                 if k in own or not k.startswith(AUXILIARY)}
        missing = [k for k in own if k not in state
                   and k.startswith(AUXILIARY)]
        if missing:
            warn(f'{self.path} has no auxiliary head: it starts untrained.')
        state.update({k: own[k] for k in missing})
        load_weights(network, state, self.path)


class Start:
    """A model, and the steps of a sequence that it stands for.

    The last one is ``step``; those before are taken from the run that the
    model is of. ``names`` are the channels' classes after the last step of the
    sequence.
    """

    def __init__(self, given: str | Mapping, names: Sequence[str],
                 scenario: Scenario) -> None:
        self.model = Trained.read(given)
        self.names = [list(names[:scenario.num_channels(t)])
                      for t in range(scenario.num_steps)]
        self.step = self._last_step()
        self._compare(scenario)
        self.earlier = [self._step_before(t) for t in range(self.step)]

    def weights_of(self, step: int) -> Trained:
        """What stands for a step of which more than scores is left."""
        return self.model if step == self.step else Trained.read(
            self.earlier[step])

    def _last_step(self) -> int:
        model, stamp = self.model, self.model.stamp
        steps = range(len(self.names))
        if stamp and stamp.step in steps and model.knows(
                self.names[stamp.step]):  # all steps of domains are alike
            return stamp.step
        if len({*model.classes}) < len(model.classes):
            twice = next(n for n in model.classes
                         if model.classes.count(n) > 1)
            raise CheckpointError(f'start_from={model.path} names the class '
                                  f'{twice!r} twice: name its channels by '
                                  'start_from=dict(checkpoint=..., classes='
                                  '[...]).')
        for step in steps:
            if model.knows(self.names[step]):
                return step
        step = min(stamp.step if stamp else 0, steps[-1])
        raise CheckpointError(_mismatch(model, self.names[step], step))

    def _step_before(self, step: int) -> str | dict:
        """The weights of an earlier step, or its entry where they are gone."""
        folder, entries = self._run()
        # of domains, all steps know the same classes
        for entry in sorted(entries, key=lambda e: e['step'] != step):
            if set(entry['classes']) != set(self.names[step]):
                continue
            path = inside(folder, entry['checkpoint'])
            return str(path) if path.is_file() else dict(entry, step=step)
        path = folder / f'step_{step:02d}' / 'final.pth'
        if self.model.stamp and not entries and path.is_file():
            return str(path)
        raise CheckpointError(
            f'start_from={self.model.path} knows the classes of the steps 0 '
            f'to {self.step}, but nothing beside it tells what was known '
            f'after step {step} ({_some(self.names[step])}): leave it in its '
            'run, or let step 0 of the scenario learn all its classes.')

    def _run(self) -> tuple[Path, list]:
        """The folder of the run that the model is of, and its entries."""
        folder = Path(self.model.path).parent.parent
        known = self.model.stamp and (folder / FILE_NAME).is_file()
        return folder, Record.read(folder).steps if known else []

    def scored(self, step: int) -> list:
        """The entry of a step in that run, if its channels are the same."""
        return [entry for entry in self._run()[1]
                if entry['step'] == step
                and entry['classes'] == self.names[step]]

    def _compare(self, scenario: Scenario) -> None:
        """Say in what its training was another one than here."""
        model = self.model
        what = 'step 0' if self.step == 0 else f'steps 0 to {self.step}'
        say(f'Not trained but taken from {model.path}: {what}')
        found = differences(model.stamp.facts[:self.step + 1], facts_of(
            scenario, self.step)) if model.stamp else []
        if found and scenario.kind == 'domain':
            raise CheckpointError(
                f'start_from={model.path} was trained on other domains '
                f'({"; ".join(found[:5])}): use the scenario that it was '
                'trained with.')
        if found:
            warn(f'{model.path} was trained otherwise: '
                 f'{"; ".join(found[:5])}.')
        if BACKGROUND in self.names[0] and BACKGROUND not in model.classes \
                and model.classes:
            warn(f'{model.path} knows no background: it gets a channel that '
                 'is never the first, the mean of the others.')


def _mismatch(model: Trained, names: Sequence[str], step: int) -> str:
    lacking = [n for n in names if n not in model.classes]
    beyond = [n for n in model.classes if n not in names]
    found = []
    if lacking:
        found.append(f'does not know {_some(lacking)}, which step {step} has '
                     'learnt')
    if beyond:
        found.append(f'knows {_some(beyond)}, which step {step} does not')
    return (f'start_from={model.path} cannot stand for step {step}: it '
            f'{" and ".join(found)}. Give the scenario the steps that it has '
            'learnt; if only the names differ, start_from=dict(checkpoint='
            '..., classes=[...]) names its channels in their order.')


def _some(names: Sequence[str]) -> str:
    more = len(names) - 8
    return ', '.join(names[:8]) + (f' and {more} more' if more > 0 else '')
