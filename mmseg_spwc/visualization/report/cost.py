"""Time and memory by step."""
from ..runs import Comparison, Group
from ..scores import spread
from .chart import Chart, figure, step_axis
from .lines import method_lines

KINDS = {
    'wall_time': ('Time by step', 'seconds', 1, ' s'),
    'peak_memory': ('Peak memory by step', 'MiB', 1 / 2**20, ' MiB'),
}


def charts(comparison: Comparison) -> list[Chart]:
    """Return a chart of the time and one of the memory."""
    return [_chart(comparison, name) for name in KINDS]


def _chart(comparison: Comparison, name: str) -> Chart:
    title, unit, scale, suffix = KINDS[name]
    traces = [
        trace for group in comparison.groups
        for trace in method_lines(group, _values(group, name, scale), suffix)
    ]
    drawn = figure(
        traces, 320, xaxis=step_axis(comparison.steps, 'step'),
        yaxis=dict(title=unit, rangemode='tozero'))
    return Chart(title, drawn, f'Lines of {unit} by step for each method.')


def _values(group: Group, name: str, scale: float) -> dict:
    found: dict[int, list] = {}
    for record in group.records:
        for entry in record.steps:
            found.setdefault(entry['step'], []).append(
                scale * entry['cost'][name])
    return {step: spread(found[step]) for step in sorted(found)}
