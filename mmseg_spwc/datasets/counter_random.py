"""Random numbers that are a function of what they are for.

A generator gives numbers in the order of asking, so a sample's augmentation
would depend on who was drawn before it. Here the number is a hash of seed,
epoch, sample and draw: equal in whatever batch, process or worker.

The hash is the output function of SplitMix64 (Steele, Lea and Flood, "Fast
Splittable Pseudorandom Number Generators", OOPSLA 2014).
"""
import numpy as np

_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)


def splitmix64(state: np.ndarray) -> np.ndarray:
    """First output of SplitMix64 from every state, uint64 of any shape."""
    with np.errstate(over='ignore'):  # arithmetic is modulo 2^64
        z = np.asarray(state, dtype=np.uint64) + _GAMMA
        z = (z ^ (z >> np.uint64(30))) * _FIRST
        z = (z ^ (z >> np.uint64(27))) * _SECOND
    return z ^ (z >> np.uint64(31))


def counter_uniforms(seed: int, epochs: np.ndarray, indices: np.ndarray,
                     draws: int) -> np.ndarray:
    """Uniform numbers in [0, 1) by seed, epoch, sample and draw.

    Args:
        seed (int): The seed, 0 or more.
        epochs (np.ndarray): Epoch of every sample, (B, ) or a number.
        indices (np.ndarray): Index of every sample, (B, ).
        draws (int): How many numbers every sample needs.

    Returns:
        np.ndarray: float64, (B, draws).
    """
    state = splitmix64(np.uint64(seed))
    for counter in (epochs, indices):
        state = splitmix64(state ^ np.asarray(counter).astype(np.uint64))
    counters = np.arange(draws, dtype=np.uint64)
    state = splitmix64(state[:, None] ^ counters)  # (B, draws)
    return (state >> np.uint64(11)) * 2.0**-53
