"""Where a step that was interrupted goes on: its newest intact checkpoint."""
import contextlib
from pathlib import Path

import torch
from mmengine.runner import CheckpointLoader

from mmseg_spwc.errors import CheckpointError
from mmseg_spwc.terminal import warn
from mmseg_spwc.utils.distributed import from_first_rank
from mmseg_spwc.utils.files import read_text

from .checkpoint import check_sums

SCHEME = 'mmseg_spwc_plain://'
PATTERNS = ('epoch_*.pth', 'iter_*.pth')


def check_plain(path: str | Path) -> dict:
    """Read a checkpoint's structure, and nothing that could run code.

    Args:
        path (str | Path): A checkpoint that MMEngine wrote.

    Returns:
        dict: Its content, with tensors on the meta device.

    Raises:
        CheckpointError: If it holds more than tensors, numbers and text.
    """
    return _load(path, 'meta')


def check_intact(path: str | Path) -> dict:
    """Check every byte of a checkpoint that ``torch.save`` wrote.

    So a truncated or altered file is found before it is used.

    Args:
        path (str | Path): The file.

    Returns:
        dict: Its content, with tensors on the meta device.

    Raises:
        CheckpointError: If it is broken, or as in :func:`check_plain`.
    """
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

    Args:
        folder (str | Path): The step's work_dir.

    Returns:
        str | None: What to give to MMEngine as ``load_from``, with a prefix
        that makes it load without running code; None if there is nothing to
        go on from. Broken files are left where they are, with a warning.
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
    return best and f'{SCHEME}{best}'


def _candidates(folder: Path) -> list[Path]:
    """Checkpoints in the folder and in the one that the hook was given."""
    places = {folder}
    with contextlib.suppress(OSError, ValueError):  # none, or no text
        pointer = read_text(folder / 'last_checkpoint')
        places.add(Path(pointer.strip()).parent)
    return sorted(path for place in places for pattern in PATTERNS
                  for path in place.glob(pattern) if path.is_file())


def _load(path: str | Path, device) -> dict:
    try:
        content = torch.load(path, map_location=device, weights_only=True)
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


# the name without its first ten letters is what MMEngine logs
@CheckpointLoader.register_scheme(prefixes=SCHEME, force=True)
def load_from_plain_file(filename: str, map_location) -> dict:
    """Load for MMEngine's ``Runner.resume``, without running any code.

    MMEngine leaves ``weights_only`` to torch, whose default depends on its
    version and on an environment variable.
    """
    return _load(filename.removeprefix(SCHEME), map_location)
