"""The scalars of a step: histories that grow cheaply, and their curves."""
import math
from collections import OrderedDict

import numpy as np
from mmengine.logging import HistoryBuffer, MessageHub

PREFIX = 'train/'
ROOM = 64  # values for which a new history has room


class GrowingHistory(HistoryBuffer):
    """``HistoryBuffer`` that has room for the values to come.

    MMEngine's copies all of its values to add one, a cost per iteration that
    grows with every iteration. Here they are copied when the room is used
    up, and get twice as much.
    """

    def __init__(self, *args, **kwargs) -> None:
        super().__init__(*args, **kwargs)
        self._make_room()

    def update(self, log_val: int | float, count: int = 1) -> None:
        """Add a value, and drop the oldest of more than ``max_length``."""
        if not (isinstance(log_val, int | float)
                and isinstance(count, int | float)):
            super().update(log_val, count)  # says what is wrong
        if self._end == len(self._logs):
            self._make_room()
        self._logs[self._end] = log_val
        self._counts[self._end] = count
        self._end += 1
        self._show()

    def _make_room(self) -> None:
        self._end = len(self._log_history)
        size = max(ROOM, 2 * self._end)
        self._logs = np.empty(size)
        self._counts = np.empty(size, self._count_history.dtype)
        self._logs[:self._end] = self._log_history
        self._counts[:self._end] = self._count_history
        self._show()

    def _show(self) -> None:
        part = slice(max(0, self._end - self.max_length), self._end)
        self._log_history = self._logs[part]
        self._count_history = self._counts[part]


class Histories(OrderedDict):
    """Scalars by name; each becomes a :class:`GrowingHistory`."""

    def __setitem__(self, name: str, history: HistoryBuffer) -> None:
        if type(history) is HistoryBuffer:
            history = GrowingHistory(*history.data, history.max_length)
        super().__setitem__(name, history)


def with_growing_histories(hub: MessageHub) -> MessageHub:
    """Let a message hub keep its scalars in growing histories."""
    hub._log_scalars = Histories(hub._log_scalars)
    return hub


def loss_curves(hub: MessageHub, iterations: int, points: int = 100) -> dict:
    """Return the loss terms of a step as means over equal stretches.

    There are at most so many ``points``; a term is None where it has no value.
    One that is not logged at every iteration is taken to be logged at equal
    distances.
    """
    terms = {
        name.removeprefix(PREFIX): buffer.data[0]
        for name, buffer in hub.log_scalars.items()
        if name.startswith(PREFIX) and ('loss' in name or 'penalty' in name)
    }
    points = min(points, iterations)
    ends = [(k + 1) * iterations // points for k in range(points)]
    return dict(
        iterations=ends,
        losses={n: _thinned(v, points) for n, v in sorted(terms.items())})


def _thinned(values: np.ndarray, points: int) -> list:
    places = np.arange(len(values)) * points // max(len(values), 1)
    sums = np.bincount(places, values, minlength=points)
    counts = np.bincount(places, minlength=points)
    return [
        float(s / c) if c and math.isfinite(s) else None
        for s, c in zip(sums, counts, strict=True)
    ]
