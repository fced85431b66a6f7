"""Keep and restore the state of every random number generator in use."""
import contextlib
import random
from collections.abc import Iterator

import numpy as np
import torch


def get_random_state() -> dict:
    """Return the state of Python's, numpy's and torch's generators, in
    tensors and plain numbers that load with ``weights_only=True``."""
    version, python, gauss = random.getstate()
    _, keys, position, has_gauss, cached = np.random.get_state()
    state = dict(
        python=[version, list(python), gauss],
        numpy=[torch.from_numpy(keys.astype(np.int64)), position, has_gauss,
               cached],
        torch=torch.get_rng_state())
    if torch.cuda.is_available():
        state['cuda'] = torch.cuda.get_rng_state()
    return state


def set_random_state(state: dict) -> None:
    """Restore what :func:`get_random_state` returned."""
    version, python, gauss = state['python']
    random.setstate((version, tuple(python), gauss))
    keys, position, has_gauss, cached = state['numpy']
    np.random.set_state(('MT19937', keys.numpy().astype(np.uint32), position,
                         has_gauss, cached))
    torch.set_rng_state(state['torch'])
    if 'cuda' in state and torch.cuda.is_available():
        torch.cuda.set_rng_state(state['cuda'])


@contextlib.contextmanager
def generators_kept() -> Iterator[None]:
    """Leave the generators as they are before a block."""
    python, array = random.getstate(), np.random.get_state()
    tensor = torch.get_rng_state()
    # not in use, or in a forked worker, where it would not start
    used = torch.cuda.is_initialized()
    gpu = torch.cuda.get_rng_state() if used else None
    try:
        yield
    finally:
        random.setstate(python)
        np.random.set_state(array)
        torch.set_rng_state(tensor)
        if gpu is not None:
            torch.cuda.set_rng_state(gpu)


def seed_generators(*entropy: int) -> None:
    """Seed all generators, that of a GPU in use among them.

    Every tuple of non-negative numbers gives streams of its own.
    """
    seeds = np.random.SeedSequence(entropy).generate_state(3)
    random.seed(int(seeds[0]))
    np.random.seed(seeds[1])
    torch.random.default_generator.manual_seed(int(seeds[2]))
    if torch.cuda.is_initialized():
        torch.cuda.manual_seed(int(seeds[2]))


@contextlib.contextmanager
def seeded(*entropy: int) -> Iterator[None]:
    """Seed as :func:`seed_generators` for a block, then restore."""
    with generators_kept():
        seed_generators(*entropy)
        yield
