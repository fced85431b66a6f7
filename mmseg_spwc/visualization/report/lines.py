"""Lines by step, one a method, with the deviation over seeds."""
import plotly.graph_objects as go

from ..palette import colour, dash, symbol
from ..runs import Group
from ..scores import Spread
from .chart import plain


def rgba(hexadecimal: str, opacity: float) -> str:
    """A colour as plotly wants a see-through one."""
    parts = [int(hexadecimal[i:i + 2], 16) for i in (1, 3, 5)]
    return f'rgba({parts[0]},{parts[1]},{parts[2]},{opacity})'


def method_lines(group: Group, values: dict[int, Spread],
                 unit: str = '') -> list[go.Scatter]:
    """Return the mean line of a method and the band of one deviation.

    Args:
        group (Group): The method.
        values (dict[int, Spread]): By step, in the chart's unit.
        unit (str): The unit, for the hover text.
    """
    known = {s: v for s, v in values.items() if v.mean is not None}
    common = dict(legendgroup=group.key, meta=dict(group=group.key))
    name = plain(group.label)
    if len(group.runs) > 1:
        name += f' ({len(group.runs)} seeds)'
    traces = []
    banded = {s: v for s, v in known.items() if v.sd is not None}
    if banded:
        upper = [v.mean + v.sd for v in banded.values()]
        lower = [v.mean - v.sd for v in banded.values()]
        traces.append(go.Scatter(
            x=[*banded, *reversed(banded)], y=[*upper, *reversed(lower)],
            fill='toself', fillcolor=rgba(colour(group.index), 0.18),
            mode='none', hoverinfo='skip', showlegend=False,
            name=name, **common))
    spreads = [f' ± {v.sd:.1f}' if v.sd is not None else ''
               for v in known.values()]
    traces.append(go.Scatter(
        x=list(known), y=[v.mean for v in known.values()], name=name,
        mode='lines+markers', customdata=spreads,
        line=dict(color=colour(group.index), dash=dash(group.index)),
        marker=dict(symbol=symbol(group.index), size=8),
        hovertemplate=f'%{{fullData.name}}<br>step %{{x}}: %{{y:.1f}}'
        f'%{{customdata}}{unit}<extra></extra>',
        **common))
    return traces
