"""mIoU or accuracy by step, mean and deviation over seeds."""
from ..runs import Comparison, Group
from ..scores import Spread, score_name, scores_by_step, spread
from ..table_formats import Column, Table
from .chart import Chart, figure, step_axis
from .lines import method_lines


def charts(comparison: Comparison) -> list[Chart]:
    """Return one chart with a line for each method."""
    steps = comparison.steps
    name = score_name(comparison.example)
    values = [_values(group, steps) for group in comparison.groups]
    traces = [
        trace
        for group, found in zip(comparison.groups, values, strict=True)
        for trace in method_lines(group, _percent(found), ' %')
    ]
    # close lines high up need the room that zero would take
    means = [v.mean for found in values for v in found.values()
             if v.mean is not None]
    high = bool(means) and 2 * min(means) > max(means)
    drawn = figure(
        traces, 400, xaxis=step_axis(steps),
        yaxis=dict(title=f'{name} of all learnt so far, %',
                   rangemode='normal' if high else 'tozero'))
    table = Table('after step', [Column(str(s)) for s in steps],
                  [group.label for group in comparison.groups],
                  [[found[s] for s in steps] for found in values])
    return [Chart('', drawn,
                  f'Lines of {name} after each step, one for each method.',
                  table=table, keys=tuple(g.key for g in comparison.groups))]


def _values(group: Group, steps: list[int]) -> dict[int, Spread]:
    found = [scores_by_step(record) for record in group.records]
    return {s: spread([scores.get(s) for scores in found]) for s in steps}


def _percent(values: dict[int, Spread]) -> dict[int, Spread]:
    return {s: Spread(*(part and 100 * part for part in value))
            for s, value in values.items()}
