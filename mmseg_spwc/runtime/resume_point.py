"""Where a step that was interrupted goes on: its newest intact checkpoint."""
import contextlib
from collections.abc import Iterator
from pathlib import Path

import torch
from mmengine.runner import EpochBasedTrainLoop

from mmseg_spwc.errors import CheckpointError
from mmseg_spwc.registry import LOOPS
from mmseg_spwc.terminal import say, warn
from mmseg_spwc.utils.distributed import from_first_rank
from mmseg_spwc.utils.files import read_text
from mmseg_spwc.utils.random_state import get_random_state, set_random_state

from .checkpoint import check_sums

PATTERNS = ('epoch_*.pth', 'iter_*.pth')


def check_plain(path: str | Path) -> dict:
    """Read the structure of a checkpoint of MMEngine, and run no code; its
    tensors are on the meta device.
    """
    try:
        content = torch.load(path, map_location='meta', weights_only=True)
    except Exception as error:  # torch raises many kinds
        raise CheckpointError(
            f'{path} holds more than tensors, numbers and text, or is '
            'damaged. A hook or scheduler of yours may store an object of '
            'its own: let it store plain values, or, if you trust the file, '
            'allow the class with torch.serialization.add_safe_globals '
            f'({str(error).splitlines()[0]}).') from error
    if not isinstance(content, dict) or 'iter' not in content.get('meta', {}):
        raise CheckpointError(f'{path} is not a checkpoint of MMEngine.')
    return content


def check_intact(path: str | Path) -> dict:
    """As :func:`check_plain`, and compare every byte with its checksum."""
    try:
        check_sums(path)
    except CheckpointError:
        raise
    except Exception as error:  # zipfile and its decoders raise many kinds
        raise CheckpointError(f'{path} is truncated or not a checkpoint '
                              f'({error}).') from error
    return check_plain(path)


def find_resume_point(folder: str | Path) -> str | None:
    """Choose the newest intact checkpoint of a step, on all ranks alike.

    Broken files are left where they are, with a warning.
    """
    return from_first_rank(_newest, Path(folder))


def remove_resume_points(folder: Path) -> None:
    """Remove what only served to resume inside a step that is finished."""
    for pattern in (*PATTERNS, 'last_checkpoint'):
        for path in folder.glob(pattern):
            if path.is_file():
                path.unlink()


def _newest(folder: Path) -> str | None:
    best, done = None, -1
    found = _candidates(folder)
    for path in found:
        try:
            iteration = check_intact(path)['meta']['iter']
        except CheckpointError as error:
            warn(f'{error} It is not used.')
            continue
        if iteration > done:
            best, done = path, iteration
    if best is None and found:
        warn(f'No checkpoint in {folder} is intact: the step starts '
             'from its beginning.')
    if best is not None:
        say(f'The step goes on from {best}, after {done} iterations.')
    return best and str(best)


def _candidates(folder: Path) -> list[Path]:
    """Checkpoints in the folder and in the one that the hook was given."""
    places = {folder}
    with contextlib.suppress(OSError, ValueError):  # none, or no text
        pointer = read_text(folder / 'last_checkpoint')
        places.add(Path(pointer.strip()).parent)
    return sorted(path for place in places for pattern in PATTERNS
                  for path in place.glob(pattern) if path.is_file())


@LOOPS.register_module()
class ResumableEpochLoop(EpochBasedTrainLoop):
    """``EpochBasedTrainLoop`` that skips what an epoch has already seen.

    MMEngine's loop always starts at the first batch of an epoch, so a
    checkpoint inside an epoch is of no use to it. Here the batches before
    ``runner.iter`` are drawn and dropped. As every sample is seeded by its
    own index and epoch, and the random states are put back afterwards, the
    rest of the epoch is bit for bit what it would have been.
    """

    def run_epoch(self) -> None:
        """Iterate over what is left of one epoch."""
        self.runner.call_hook('before_train_epoch')
        self.runner.model.train()
        done = self._iter - self._epoch * len(self.dataloader)
        for idx, data_batch in enumerate(self._batches(done), start=done):
            self.run_iter(idx, data_batch)
        self.runner.call_hook('after_train_epoch')
        self._epoch += 1

    def _batches(self, done: int) -> Iterator[dict]:
        # A new iterator draws a seed for its workers. A resumed run makes one
        # where an uninterrupted one may go on with its old one, so that
        # drawing must not count.
        state = get_random_state()
        batches = iter(self.dataloader)
        for _ in range(done):
            next(batches)
        set_random_state(state)
        return batches
