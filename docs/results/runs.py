"""Runs kept in docs/results, and how they become tables."""
import csv
import json
import statistics
from collections.abc import Callable, Iterable
from pathlib import Path

HERE = Path(__file__).resolve().parent
Rows = list[dict]


def read_csv(name: str) -> Rows:
    """Rows of a CSV file, empty cells as None."""
    with (HERE / f'{name}.csv').open(newline='') as file:
        return [{k: v or None for k, v in row.items()}
                for row in csv.DictReader(file)]


def read_json(name: str) -> Rows:
    return json.loads((HERE / 'records' / f'{name}.json').read_text())


def groups(rows: Rows, *keys: str) -> dict[tuple, Rows]:
    """Rows of equal keys, in the order of their first appearance."""
    found: dict[tuple, Rows] = {}
    for row in rows:
        found.setdefault(tuple(row[k] for k in keys), []).append(row)
    return found


def estimate(values: Iterable, digits: int = 1) -> str:
    """Mean ± standard error in percent, ``-`` for what is not known."""
    values = [100 * float(v) for v in values if v is not None]
    if not values:
        return '-'
    text = f'{statistics.fmean(values):.{digits}f}'
    if len(values) > 1:
        error = statistics.stdev(values) / len(values)**.5
        text += f' ± {error:.{digits}f}'
    return text


def mean_of(scores: Iterable) -> float | None:
    known = [s for s in scores if s is not None]
    return statistics.fmean(known) if known else None


def table(head: list, body: Iterable[list]) -> str:
    lines = [head, ['---'] * len(head), *body]
    return ''.join('| ' + ' | '.join(map(str, x)) + ' |\n' for x in lines)


def commands(lines: Iterable[str]) -> str:
    """What runs each row, folded away below the table."""
    listed = '\n'.join(lines)
    return ('\n<details><summary>Commands</summary>\n<pre>\n'
            f'{listed}\n</pre>\n</details>\n')


def by_mean(key: str) -> Callable:
    """Sort key: groups with the highest mean first."""
    return lambda item: -statistics.fmean(float(r[key]) for r in item[1])
