"""Output channels, counted by the step that added them."""
from collections.abc import Sequence


def checked_channels(channels: Sequence[int]) -> tuple:
    """Return the channels of every step, or say why they cannot be.

    Args:
        channels (Sequence[int]): Channels added by each step. A later step
            may add none (domain-incremental learning).
    """
    channels = tuple(channels)
    if not channels or channels[0] < 1 or min(channels) < 0:
        raise ValueError(
            'channels must hold the channels added by each step, at least '
            f'one in the first and none negative, but got {channels}.')
    return channels
