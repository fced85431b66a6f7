"""Average per-task accuracy and forgetting, task by task."""
from matplotlib.figure import Figure

from mmseg_spwc.errors import RecordError

from ..runs import Comparison
from ..scores import matrix, spread
from .style import count_axis, line, panels, styled


@styled
def draw(comparison: Comparison) -> Figure:
    r"""Draw APA and ACF over the tasks (steps).

    :math:`\mathrm{APA}_t` is the mean score on the tasks so far,
    :math:`\mathrm{ACF}_t = a_{11} - \mathrm{APA}_t`; see
    :class:`~mmseg_spwc.evaluation.AccuracyMatrix`.
    """
    figure, axes = panels(2, height=2.2)
    drawn = 0
    for group in comparison.groups:
        found = [m for m in map(matrix, group.records) if m is not None]
        if not found:
            continue
        drawn += 1
        for panel, curves in zip(axes, ([m.apa() for m in found],
                                        [m.acf() for m in found]),
                                 strict=True):
            length = max(map(len, curves))
            values = [spread([c[t] for c in curves if t < len(c)])
                      for t in range(length)]
            line(panel, group, range(1, length + 1), values, 100)
    if not drawn:
        raise RecordError('None of the runs has a score for every task after '
                          'every step, which APA needs.')
    for panel, name in zip(axes, ('APA (%)', 'ACF (%)'), strict=True):
        panel.set_ylabel(name)
        count_axis(panel, 'task')
    axes[0].legend()
    return figure
