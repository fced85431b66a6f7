"""Weights that a step begins with, read without running what they may hold.

A finished step hands its own on, stamped with what they are; those of the
backbone come from elsewhere.
"""
import contextlib
import dataclasses
import functools
import json
import os
import pickle
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import torch
from mmengine.runner import CheckpointLoader, load_state_dict
from mmengine.runner import checkpoint as mmengines
from packaging.version import Version
from torch import Tensor, nn

from mmseg_spwc.errors import CheckpointError
from mmseg_spwc.scenario import Scenario, changed_facts
from mmseg_spwc.terminal import warn
from mmseg_spwc.utils.files import write_tensors

FORMAT = 'mmseg_spwc.step'
_ALWAYS = 'TORCH_FORCE_WEIGHTS_ONLY_LOAD'
_NEVER = 'TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD'


# what MMEngine's checkpoints hold beside tensors: histories of scalars
_HISTORIES = ('mmengine.logging.history_buffer.HistoryBuffer',
              'builtins.getattr', 'builtins.bytes', '_codecs.encode',
              'numpy.ndarray',
              'numpy.dtype', *(f'numpy.{core}.multiarray.{name}'
                               for core in ('core', '_core')
                               for name in ('scalar', '_reconstruct')))


@dataclasses.dataclass(frozen=True)
class Stamp:
    """What a step checkpoint says of itself; ``facts`` are of every step."""
    scenario_hash: str
    base_hash: str
    step: int
    channels: list
    method: str
    facts: list = dataclasses.field(default_factory=list)

    def __post_init__(self) -> None:
        if type(self.step) is not int or self.step < 0 or not all(
                isinstance(fact, dict) for fact in self.facts):
            raise TypeError(f'it says that it is of step {self.step}')

    @classmethod
    def of(cls, scenario: Scenario, step: int, method: str) -> 'Stamp':
        return cls(scenario.hash, scenario.base_hash, step,
                   list(scenario.channels(step)), method,
                   facts_of(scenario, step))


def save_step(path: str | Path,
              state_dict: dict,
              stamp: Stamp,
              meta: dict,
              branches: dict | None = None) -> None:
    """Write a step's weights and stamp, whole or not at all.

    ``meta`` are plain facts for other readers, such as ``dataset_meta`` for
    mmseg's inference API; ``branches`` those that the next step goes on with.
    """
    content = dict(
        format=FORMAT,
        stamp=dataclasses.asdict(stamp),
        meta=meta,
        state_dict={k: v.detach().cpu() for k, v in state_dict.items()})
    if branches is not None:
        content['branches'] = branches
    write_tensors(path, content)


def facts_of(scenario: Scenario, step: int) -> list[dict]:
    """What decides the steps up to one, as JSON would give it back."""
    return json.loads(json.dumps(
        [scenario.step_facts(s) for s in range(step + 1)]))


def differences(before: list[dict], after: list[dict]) -> list[str]:
    """Say field by field in what the first steps of two scenarios differ.

    Both are given by :func:`facts_of`; the second may have more steps.
    """
    if len(before) > len(after):
        return [f'it has {len(before)} steps, this one {len(after)}']
    return [
        f'{key} of step {step} is {_shown(old)} there, {_shown(new)} here'
        for step, (a, b) in enumerate(zip(before, after, strict=False))
        for key, (old, new) in changed_facts(a, b).items()
    ]


def _shown(value: object) -> str:
    return ', '.join(map(str, value)) if isinstance(value, list) \
        else repr(value)


def load_step(path: str | Path) -> dict:
    """Read a step checkpoint, and nothing that could run code, break or harm.

    Its checksums are compared, and its weights must be numbers; ``stamp`` is a
    :class:`Stamp`.
    """
    warn_of_old_torch()
    try:
        check_sums(path)
        content = torch.load(path, map_location='cpu', weights_only=True)
    except CheckpointError:
        raise
    except FileNotFoundError as error:
        raise CheckpointError(f'There is no checkpoint at {path}.') from error
    except Exception as error:
        raise CheckpointError(
            f'{path} cannot be read as a checkpoint of plain tensors '
            f'({type(error).__name__}); it is broken or holds code. Use the '
            'final.pth of a finished step.') from error
    if not isinstance(content, dict) or content.get('format') != FORMAT:
        raise CheckpointError(
            f'{path} is not the checkpoint of a finished step: use the '
            'final.pth that mmseg_spwc writes into step_NN/.')
    try:
        content['stamp'] = stamp = Stamp(**content['stamp'])
        _check_names(content['meta'].get('dataset_meta') or {},
                     sum(stamp.channels), path)
        _check_finite(content['state_dict'], path)
    except (AttributeError, KeyError, TypeError) as error:
        raise CheckpointError(
            f'{path} has no stamp that this mmseg_spwc can read ({error}): '
            'use the release that wrote it.') from error
    return content


def check_sums(path: str | Path) -> None:
    """Compare every byte of a file of ``torch.save`` with its checksum.

    The file is a zip archive that holds a CRC-32 of each of its parts, which
    ``torch.load`` does not compare.
    """
    if not Path(path).is_file() and Path(path).exists():  # it might block
        raise CheckpointError(f'{path} is no file: use the final.pth of a '
                              'finished step.')
    with zipfile.ZipFile(path) as archive:
        broken = archive.testzip()
    if broken:
        raise CheckpointError(
            f'{path} is damaged: the checksum of its part {broken} is wrong. '
            'Copy it anew.')


def _check_names(meta: dict, channels: int, path: str | Path) -> None:
    """Refuse names and colours that are not those of the channels."""
    classes, palette = (meta.get(k) or [] for k in ('classes', 'palette'))
    if len(classes) not in (0, channels) or \
            not all(isinstance(name, str) for name in classes):
        raise CheckpointError(f'{path} has {channels} channels and names '
                              f'{len(classes)}: use the file as it was '
                              'written.')
    if len(palette) not in (0, len(classes)) or not all(
            len(rgb) == 3 and set(rgb) <= set(range(256)) for rgb in palette):
        raise CheckpointError(
            f'{path} does not have a colour of three numbers from 0 to 255 '
            'for each class: use the file as it was written.')


def _check_finite(state: dict, path: str | Path) -> None:
    for key, value in state.items():
        if value.is_floating_point() and not _is_mask(value) and \
                not value.isfinite().all():
            raise CheckpointError(
                f'{path} holds weights that are not finite, the first is '
                f'{key}: its training has diverged, or the file was changed. '
                'Use another checkpoint, or train anew with a smaller '
                'learning rate.')


def _is_mask(value: torch.Tensor) -> bool:
    """Whether it is what is added to attention: 0 or minus infinity."""
    return bool(((value == 0) | value.isneginf()).all())


@functools.cache
def warn_of_old_torch() -> None:
    """Say once where even reading tensors alone is not safe."""
    if Version(torch.__version__) < Version('2.10'):
        warn(f'torch {torch.__version__} can be made to run code by a '
             'checkpoint even though only tensors are read (CVE-2025-32434 '
             'before 2.6, CVE-2026-24747 before 2.10): use no checkpoints of '
             'strangers, or update torch.')


def load_weights(network: nn.Module, state: dict, path: str | Path) -> None:
    """Load a step's weights, all of which must fit."""
    try:
        network.load_state_dict(state)
    except RuntimeError as error:
        first = str(error).splitlines()[1].strip()
        raise CheckpointError(
            f'{path} holds the weights of another network than the config '
            f'({first[:120]}): use the config it was trained with.'
        ) from error


def check_fits(stamp: Stamp, scenario: Scenario, path: str | Path) -> None:
    """Check that a checkpoint is one of a scenario's steps.

    It also fits scenarios that go on otherwise, or further, after its step.
    """
    shared = stamp.step == 0 and stamp.base_hash == scenario.base_hash
    same = shared or stamp.scenario_hash == scenario.hash
    last = scenario.num_steps - 1
    found = [] if same else differences(
        stamp.facts, facts_of(scenario, min(stamp.step, last)))
    if found or not (same or stamp.facts):
        raise CheckpointError(
            f'{path} belongs to another scenario than the config'
            f'{" (" + "; ".join(found[:3]) + ")" if found else ""}: use the '
            'config, --scenario and --setting that it was trained with.')
    if stamp.step > last or \
            stamp.channels != list(scenario.channels(stamp.step)):
        raise CheckpointError(
            f'{path} says that it is of step {stamp.step} with '
            f'{stamp.channels} channels, which the scenario does not have: '
            'use the file as it was written.')


@contextlib.contextmanager
def tensors_only() -> Iterator[None]:
    """Have every ``torch.load`` refuse code.

    MMEngine leaves the choice to torch, whose default depends on its version,
    and torch.hub decides against it; all of them listen to these variables.
    The histories in MMEngine's own checkpoints are passed over.
    """
    before = {name: os.environ.pop(name, None) for name in (_ALWAYS, _NEVER)}
    os.environ[_ALWAYS] = '1'
    try:
        with _histories_passed_over():
            yield
    finally:
        os.environ.pop(_ALWAYS, None)
        os.environ.update({k: v for k, v in before.items() if v is not None})


def _histories_passed_over() -> contextlib.AbstractContextManager:
    """Older versions of torch cannot, and refuse files with histories."""
    if Version(torch.__version__) < Version('2.6'):
        return contextlib.nullcontext()
    return torch.serialization.safe_globals(
        [(_Inert, name) for name in _HISTORIES])


def _load_plain(source: str, *args, **kwargs) -> dict:
    """Read weights as MMEngine does, from wherever it can read.

    It takes the place of MMEngine's own, so that ``init_cfg``, ``pretrained``
    and ``load_from`` read tensors only too.
    """
    warn_of_old_torch()
    try:
        with tensors_only():
            return _load_any(source, *args, **kwargs)
    except (pickle.UnpicklingError, LookupError, EOFError,
            RuntimeError) as error:  # torch raises them for other files
        raise CheckpointError(
            f'{source} cannot be read as plain tensors: it is damaged, or '
            'holds objects whose loading may run code. If you trust it, '
            'convert it once: python -c "import torch; c = torch.load('
            "'FILE', 'cpu', weights_only=False); torch.save("
            "c.get('state_dict', c), 'plain.pth')\", and give plain.pth."
        ) from error


# the continuation of MMEngine has a list of what may be made while reading,
# `getattr` among it
if hasattr(mmengines, 'get_torch_safe_globals'):
    mmengines.get_torch_safe_globals = list
_load_any = CheckpointLoader.load_checkpoint
CheckpointLoader.load_checkpoint = staticmethod(_load_plain)


def load_plain(source: str, device: str = 'cpu') -> dict:
    """Read somebody else's weights from a file, a URL, or a name such as
    ``torchvision://resnet18``.
    """
    return CheckpointLoader.load_checkpoint(source, device)


def fitting_weights(network: nn.Module, path: str) -> dict:
    """Read the weights that a plain network has too, by name and shape.

    It is filled with them. What does not fit is told in MMEngine's words in
    the log.
    """
    content = load_plain(path)
    state = content.get('state_dict', content) if isinstance(
        content, Mapping) else {}
    state = {k.removeprefix('module.'): v for k, v in state.items()
             if isinstance(v, Tensor)}
    wanted = network.state_dict()
    fitting = {k: v for k, v in state.items()
               if k in wanted and v.shape == wanted[k].shape}
    if not fitting.keys() & dict(network.named_parameters()).keys():
        raise CheckpointError(
            f'{path} holds no weight with a name and shape of this network: '
            'give a checkpoint of the same model. Weights of a backbone '
            'alone are for backbone_weights.')
    load_state_dict(network, state, logger='current')
    rest = [key for key in wanted if key not in fitting]
    if rest:
        warn(f'{path} gives {len(fitting)} of {len(wanted)} tensors; '
             f'{", ".join(rest[:3])}{", ..." if rest[3:] else ""} start as '
             'without it.')
    return fitting


class _Inert:
    """Stands where a file names an object that nobody needs."""

    def __init__(self, *args) -> None:
        """Do nothing with what the file gives."""

    __setstate__ = __init__
