"""The scores by the number k of protected units."""
from ..ablation import by_setting, k_of
from ..runs import Comparison
from ..scores import (
    average_score,
    final_score,
    forgetting,
    is_classification,
    score_name,
    spread,
)
from ..table_formats import Column, Table


def draw(comparison: Comparison) -> Table:
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
