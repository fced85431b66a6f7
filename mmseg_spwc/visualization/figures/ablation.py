"""Runs that differ in one option of spWC, side by side."""
from collections.abc import Callable

from matplotlib.figure import Figure

from mmseg_spwc.errors import RecordError
from mmseg_spwc.record import Record

from ..palette import colour
from ..runs import Comparison
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
    found = by_setting(comparison, rule_of)
    figure, (axes, ) = panels()
    width = .38
    for shift, (name, question) in enumerate(
            (('after the last step', final_score),
             ('average over steps', average_score))):
        values = [spread([question(r) for r in records])
                  for records in found.values()]
        places = [i + (shift - .5) * width for i in range(len(found))]
        axes.bar(places, [100 * (v.mean or 0) for v in values], width,
                 color=colour(shift), label=name)
        seeded = [(x, v) for x, v in zip(places, values, strict=True)
                  if v.sd is not None]
        axes.errorbar([x for x, _ in seeded],
                      [100 * v.mean for _, v in seeded],
                      [100 * v.sd for _, v in seeded], fmt='none',
                      ecolor='black', elinewidth=.8, capsize=2)
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
    found = by_setting(comparison, k_of)
    name = score_name(comparison.example)
    questions = {
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


def by_setting(comparison: Comparison,
               question: Callable[[Record], str | int | None]) -> dict:
    """Put the furthest records together by the answer to a question.

    Those without an answer come last. Runs of several base methods are kept
    apart and named, and so are runs with the same setting and seed, which
    differ in something else.

    Raises:
        RecordError: If all records have the same setting.
    """
    found: dict = {}
    last = comparison.steps[-1] if comparison.steps else None
    for group in comparison.groups:
        for record in group.records:
            if record.steps and record.finished_steps[-1] == last:
                key = (_base_method(record), question(record))
                found.setdefault(key, {}).setdefault(
                    group.label, []).append(record)
    if len({answer for _, answer in found}) < 2:
        raise RecordError('An ablation needs finished runs that differ in '
                          'the setting; these do not.')
    bases = list(dict.fromkeys(base for base, _ in found))
    order = sorted(found, key=lambda key: (
        bases.index(key[0]), key[1] is None, key[1]))
    result = {}
    for key in order:
        result.update(_seeds(_label(key, len(bases) > 1), found[key]))
    return result


def _seeds(label: str, groups: dict[str, list]) -> dict[str, list]:
    """One entry if the records are seeds of one thing, else one per group."""
    together = sum(groups.values(), [])
    seeds = [record.content['run']['seed'] for record in together]
    return {label: together} if len(set(seeds)) == len(seeds) else groups


def _base_method(record: Record) -> str:
    """The method without spWC, whose name follows a plus sign."""
    method = record.content['method']
    return method.rpartition('+')[0] if rule_of(record) else method


def _label(key: tuple, named: bool) -> str:
    base, answer = key
    answer = 'none' if answer is None else str(answer)
    return f'{base}: {answer}' if named else answer


def rule_of(record: Record) -> str | None:
    """The self-paced regulariser of a run, None without spWC."""
    return _option(record, 'self_paced', 'rule') or _option(
        record, 'priority', 'rule')  # all that version 1 told


def k_of(record: Record) -> int | None:
    """How many units a run protects; None where no k is set."""
    return _option(record, 'self_paced', 'k')


def _option(record: Record, part: str, name: str) -> str | int | None:
    """What the first step with such a part says of an option."""
    return next((entry[part].get(name) for entry in record.steps
                 if entry.get(part)), None)
