"""Runs that differ in one option of spWC, side by side."""
from collections.abc import Callable

import numpy as np
from matplotlib.figure import Figure

from mmseg_spwc.errors import RecordError
from mmseg_spwc.record import Record

from ..palette import colour
from ..runs import Comparison, self_paced_options
from ..scores import (
    average_score,
    final_score,
    forgetting,
    is_classification,
    score_name,
    spread,
)
from ..tables import Column, Table
from .style import panels, styled


@styled
def regulariser_ablation(comparison: Comparison) -> Figure:
    """Draw bars of the final and of the average score by regulariser.

    Whiskers are one standard deviation over seeds.
    """
    found = by_setting(comparison, 'rule')
    figure, (axes, ) = panels()
    width = .38
    for shift, (name, question) in enumerate(
            (('after the last step', final_score),
             ('average over steps', average_score))):
        values = [spread([question(r) for r in records]).times(100)
                  for records in found.values()]
        axes.bar(np.arange(len(found)) + (shift - .5) * width,
                 [v.mean or 0 for v in values], width, color=colour(shift),
                 yerr=[np.nan if v.sd is None else v.sd for v in values],
                 error_kw=dict(elinewidth=.8, capsize=2), label=name)
    long = sum(map(len, found)) > 36  # more do not fit beside each other
    axes.set_xticks(range(len(found)), list(found),
                    **(dict(rotation=20, ha='right') if long else {}))
    axes.set(xlabel='self-paced regulariser',
             ylabel=f'{score_name(comparison.example)} (%)')
    axes.grid(False, axis='x')
    figure.legend(loc='outside upper center', ncols=2)
    return figure


def k_ablation(comparison: Comparison) -> Table:
    """Return the table: one row for each k, mean and deviation over seeds.

    Runs without k, which protect every unit or choose by an age, come last.
    """
    found = by_setting(comparison, 'k')
    name = score_name(comparison.example)
    questions: dict[Column, Callable] = {
        Column(f'final {name}'): final_score,
        Column(f'average {name}'): average_score,
        Column('forgetting', better=-1): forgetting,
    }
    if is_classification(comparison.example):
        questions[Column('PS', scale=1., digits=2)] = \
            lambda record: record.content['summary'].get('ps_active')
    rows = [[spread([ask(r) for r in records])
             for ask in questions.values()] for records in found.values()]
    return Table('k', list(questions), list(found), rows)


def by_setting(comparison: Comparison, option: str) -> dict[str, list]:
    """Put the furthest records together by an option of spWC.

    Those without it come last. Runs of several base methods are kept apart
    and named, and so are runs with the same setting and seed, which differ in
    something else.
    """
    found: dict = {}
    for group in comparison.groups:
        for record in group.records:
            if record.finished_steps[-1:] == comparison.steps[-1:] != []:
                key = (_base_method(record),
                       self_paced_options(record).get(option))
                found.setdefault(key, {}).setdefault(
                    group.label, []).append(record)
    if len({answer for _, answer in found}) < 2:
        raise RecordError('An ablation needs finished runs that differ in '
                          'the setting; these do not.')
    bases = list(dict.fromkeys(base for base, _ in found))
    result = {}
    for base, answer in sorted(found, key=lambda key: (
            bases.index(key[0]), key[1] is None, key[1])):
        label = 'none' if answer is None else str(answer)
        result.update(_seeds(f'{base}: {label}' if len(bases) > 1 else label,
                             found[base, answer]))
    return result


def _seeds(label: str, groups: dict[str, list]) -> dict[str, list]:
    """One entry if the records are seeds of one thing, else one per group."""
    together = sum(groups.values(), [])
    seeds = [record.content['run']['seed'] for record in together]
    return {label: together} if len(set(seeds)) == len(seeds) else groups


def _base_method(record: Record) -> str:
    """The method without spWC, whose name follows a plus sign."""
    method = record.content['method']
    return method.rpartition('+')[0] if self_paced_options(record) else method
