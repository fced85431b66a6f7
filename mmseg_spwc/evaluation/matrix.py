"""The accuracy matrix of a sequence and the numbers drawn from it."""
from collections.abc import Iterable, Sequence

from torch import Tensor

Row = Sequence[float] | Tensor


class AccuracyMatrix:
    r"""Accuracy ``a[i][j]`` on task ``j`` after learning task ``i``.

    Args:
        rows: One row per finished task, either growing (1, 2, 3, ... values)
            or all as long as the sequence. Values above the diagonal, for
            tasks not learnt yet, are not used and may be anything.

    With ``M`` tasks, numbered from 1 in the formulas:

    * APA_t :math:`= \frac1t \sum_{j \le t} a_{tj}`
    * ACF_t :math:`= a_{11} - \mathrm{APA}_t`
    * Average-ACF :math:`= \frac{M}{M-1} (a_{11} -` Average-APA :math:`)`,
      so ACF tells how later tasks compare with the first one, not how much
      of each was lost; see :meth:`forgetting` and :meth:`bwt` for that.
    """

    def __init__(self, rows: Iterable[Row] = ()) -> None:
        self._rows: list[list[float]] = []
        self._width: int | None = None
        for row in rows:
            self.record(row)

    def record(self, row: Row) -> None:
        """Add the accuracies measured after one more task."""
        index = len(self)
        if index == 0 and len(row) > 1:
            self._width = len(row)
        expected = self._width or index + 1
        if len(row) != expected or expected <= index:
            raise ValueError(
                f'row {index} has {len(row)} values instead of {expected}; '
                'give one value per task seen so far, or rows that are all '
                'as long as the whole sequence')
        values = [float(value) for value in row[:index + 1]]
        for task, value in enumerate(values):
            _check(value, index, task)
        self._rows.append(values)

    def __getitem__(self, index: int) -> list[float]:
        return self._rows[index]

    def __len__(self) -> int:
        return len(self._rows)

    def apa(self) -> list[float]:
        """Average per-task accuracy after every step."""
        self._need_rows()
        return [sum(row) / len(row) for row in self._rows]

    def average_apa(self) -> float:
        """Mean of :meth:`apa` over all steps."""
        return _mean(self.apa())

    def acf(self) -> list[float]:
        """Average catastrophic forgetting after every step; 0 at the first."""
        apa = self.apa()
        return [apa[0] - value for value in apa]

    def average_acf(self) -> float:
        """Mean of :meth:`acf` over the steps after the first."""
        return _mean(self.acf()[1:])

    def final_accuracy(self) -> float:
        """Mean accuracy over all tasks after the last step."""
        return self.apa()[-1]

    def learning_accuracy(self) -> float:
        """Mean accuracy on each task right after it was learnt."""
        self._need_rows()
        return _mean([row[-1] for row in self._rows])

    def forgetting(self) -> float:
        r""":math:`\frac{1}{M-1}\sum_{j<M}(\max_{i<M} a_{ij} - a_{Mj})`."""
        self._need_rows()
        *before, last = self._rows
        return _mean([
            max(row[task] for row in before[task:]) - last[task]
            for task in range(len(before))
        ])

    def bwt(self) -> float:
        r"""Backward transfer :math:`\frac{1}{M-1}\sum_{j<M}(a_{Mj}-a_{jj})`.
        """
        self._need_rows()
        *before, last = self._rows
        return _mean([last[task] - row[-1] for task, row in enumerate(before)])

    def _need_rows(self) -> None:
        if not self._rows:
            raise ValueError('the matrix is empty; record a row first')


def _mean(values: list[float]) -> float:
    """The mean; 0 of nothing, as one task alone cannot be forgotten."""
    return sum(values) / len(values) if values else 0.


def _check(value: float, step: int, task: int) -> None:
    if not 0 <= value <= 1:
        hint = '; divide percentages by 100' if 1 < value <= 100 else ''
        raise ValueError(
            f'a[{step}][{task}] must be an accuracy in [0, 1], got '
            f'{value:g}{hint}')
