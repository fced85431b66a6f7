"""Memory of this process: what waits for reuse, what is given back."""
import contextlib
import ctypes
import gc
import os
import resource
from collections.abc import Iterator

import torch


@contextlib.contextmanager
def frozen_heap() -> Iterator[None]:
    """Let the garbage collector look through what is made inside only.

    Torch and OpenMMLab make a million objects when they are imported; to
    look through them after every step takes a quarter of a second.
    """
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


# of <malloc.h>, and the largest that can be asked for
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _LARGEST = -1, -3, 2**31 - 1


def keep_memory() -> None:
    """Let freed memory of this process wait for the next iteration.

    glibc gives what an iteration frees back to the system, and the next one
    gets it again page by page, which takes 3 to 15 % of the CPU time of a
    small segmentation network; peaks were 4 % higher at most. Nothing happens
    with another C library, or where the environment says when to give memory
    back (``MALLOC_TRIM_THRESHOLD_``, ``MALLOC_MMAP_THRESHOLD_``).
    """
    mallopt = getattr(ctypes.CDLL(None), 'mallopt', None)
    if mallopt is None or any(
            f'MALLOC_{what}_THRESHOLD_' in os.environ
            for what in ('TRIM', 'MMAP')):
        return
    mallopt(_M_MMAP_THRESHOLD, _LARGEST)
    mallopt(_M_TRIM_THRESHOLD, _LARGEST)


def free_memory() -> None:
    """Give back what no longer has an owner, and count peaks anew."""
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()


def peak_memory() -> int:
    """Peak bytes of this process: on the GPU if there is one."""
    if torch.cuda.is_available():
        return torch.cuda.max_memory_allocated()
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
