"""Decoded images and masks, kept in memory that all workers share.

A later step sees few images many times; reading and decoding them is then
most of the work of its data loaders.
"""
import contextlib
import fcntl
import mmap
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.context import get_spawning_popen
from multiprocessing.reduction import DupFd

import numpy as np
from mmcv.transforms import LoadImageFromFile
from mmengine.dataset import Compose
from mmseg.datasets.transforms import LoadAnnotations
from PIL import Image

from mmseg_spwc.errors import ConfigError

GB = 10**9
PROBED = 50  # image files whose size is looked up, to say how much is kept


class DecodedImages:
    """Loads images and masks, and keeps as many as there is room for.

    The memory is a file without a name, of ``room`` gigabytes at most, which
    workers of a data loader share with the process that starts them, forked
    or spawned: what one of them decodes, all have. The system gives memory
    page by page, as it is written. A copy that is made for anything else
    keeps nothing. ``loading`` are the transforms that load a sample.
    """

    def __init__(self, count: int, room: float,
                 loading: Sequence[Callable]) -> None:
        first = [type(transform) for transform in loading[:2]]
        if first != [LoadImageFromFile, LoadAnnotations]:
            raise ConfigError(
                'keep_decoded needs a pipeline that begins with '
                'LoadImageFromFile and LoadAnnotations, not with '
                f'{" and ".join(kind.__name__ for kind in first)}: change it, '
                'or set keep_decoded to 0.')
        self.loading = Compose(loading)
        self.count = count
        self.room = int(room * GB)
        self._open(_nameless_file())

    def _open(self, file: int) -> None:
        """Map a file: a table of the samples, then their pixels."""
        self.file = os.fdopen(file, 'r+b', buffering=0)
        head = 8 * (1 + 5 * self.count)
        self.file.truncate(head + self.room)
        memory = mmap.mmap(file, head + self.room)
        numbers = np.frombuffer(memory, np.int64, 1 + 5 * self.count)
        self.used = numbers[:1]  # bytes of pixels
        # where a sample begins; height, width, channels; 1 once it is there
        self.table = numbers[1:].reshape(-1, 5)
        self.pixels = np.frombuffer(memory, np.uint8, offset=head)

    def __getstate__(self) -> dict:
        state = dict(loading=self.loading, count=self.count, room=self.room)
        if self.file is not None and get_spawning_popen() is not None:
            state['shared'] = DupFd(self.file.fileno())
        return dict(state, file=None)

    def __setstate__(self, state: dict) -> None:
        shared = state.pop('shared', None)
        vars(self).update(state)
        if shared is not None:
            self._open(shared.detach())

    def load(self, index: int, info: dict) -> dict | None:
        """Load a sample as its transforms do, from memory where possible."""
        kept = self._get(index) if self.file is not None else None
        if kept is not None:
            image, info['gt_seg_map'] = kept
            info['seg_fields'].append('gt_seg_map')
            shape = image.shape[:2]
            info.update(img=image, img_shape=shape, ori_shape=shape)
            return info
        info = self.loading(info)
        if self.file is not None and info is not None:
            self._put(index, info['img'], info['gt_seg_map'])
        return info

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        # unlike a semaphore, it is free again when its holder is killed
        fcntl.lockf(self.file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.lockf(self.file, fcntl.LOCK_UN)

    def _get(self, index: int) -> tuple[np.ndarray, np.ndarray] | None:
        with self._locked():
            start, height, width, channels, ready = self.table[index].tolist()
        if not ready:
            return None
        middle = height * width * channels
        both = self.pixels[start:start + middle + height * width].copy()
        return (both[:middle].reshape(height, width, channels),
                both[middle:].reshape(height, width))

    def _put(self, index: int, image: np.ndarray, mask: np.ndarray) -> None:
        if image.dtype != np.uint8 or mask.dtype != np.uint8 or \
                image.ndim != 3 or image.shape[:2] != mask.shape:
            return  # another form: it is loaded anew every time
        row, size = self.table[index], image.size + mask.size
        with self._locked():
            start = int(self.used[0])
            if row[1] or start + size > self.room:
                return  # another worker is at it, or the memory is full
            self.used += size
            row[:4] = start, *image.shape
        self.pixels[start:start + image.size] = image.ravel()
        self.pixels[start + image.size:start + size] = mask.ravel()
        with self._locked():
            row[4] = 1


def decoded_gigabytes(paths: Sequence[str]) -> float | None:
    """Estimate what images and masks take, from the headers of a few files.

    It is None if the files are not here.
    """
    probed = paths[::max(1, len(paths) // PROBED)]
    areas = []
    for path in probed:
        try:
            with Image.open(path) as image:
                areas.append(image.width * image.height)
        except OSError:
            return None
    return len(paths) * 4 * float(np.mean(areas)) / GB if areas else None


def _nameless_file() -> int:
    # memory where the system has it, which /dev/shm does not limit
    if hasattr(os, 'memfd_create'):
        return os.memfd_create('decoded images')
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())
