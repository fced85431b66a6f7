"""The priority weights of spWC over the steps."""
from mmseg_spwc.record import Record

from ..runs import Comparison
from ..scores import numbered_classes, unit_name
from .chart import Chart
from .heat_map import heat_map


def charts(comparison: Comparison) -> list[Chart]:
    """Return one heat map for each run that has priorities."""
    return [
        _chart(run.record, group.run_label(run), group.key)
        for group in comparison.groups for run in group.runs
        if any(entry.get('priority') for entry in run.record.steps)
    ]


def _chart(record: Record, label: str, key: str) -> Chart:
    entries = [s for s in record.steps if s.get('priority')]
    chosen = [s['priority'] for s in entries]
    height = max(len(p['v']) for p in chosen)
    values = [[_at(p['v'], i) for p in chosen] for i in range(height)]
    hover = [[_hover(p, i) for p in chosen] for i in range(height)]
    top = max([1., *(v for p in chosen for v in p['v'])])
    drawn = heat_map(_names(record, chosen[0]['unit'], height),
                     [s['step'] for s in entries], values, hover, top, 'v')
    drawn.update_xaxes(title='while learning step')
    drawn.update_traces(hovertemplate='%{y}<br>while learning step %{x}<br>'
                        '%{customdata}<extra></extra>')
    title = f'{label}: rule {chosen[0].get("rule", "unknown")}'
    return Chart(title, drawn,
                 f'Heat map of the priority weights of {label}.', key)


def _names(record: Record, unit: str, height: int) -> list[str]:
    if unit == 'class':
        return numbered_classes(record)[:height]
    return [unit_name(record, t) for t in range(height)]


def _at(values: list, index: int) -> float | None:
    return values[index] if index < len(values) else None


def _hover(priority: dict, index: int) -> str:
    parts = [('v', _at(priority['v'], index)),
             ('psi', _at(priority.get('psi') or [], index)),
             ('eta', _at(priority.get('eta') or [], index)),
             ('mu', priority.get('mu'))]
    return '<br>'.join(
        f'{name} = {"none" if value is None else format(value, ".4g")}'
        for name, value in parts)
