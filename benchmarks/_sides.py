"""What the benchmarks share: rows, a fair clock and a network.

A benchmark is a function that yields rows, given to :func:`report`. Each row
compares a cost of this toolkit with the same cost of a named rival, both
taken in one run. Times are CPU seconds of a single thread, so that other
programs on the machine do not count.
"""
import argparse
import dataclasses
import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import nn

# the file that `python benchmarks` collects rows and notes from
ROWS = 'MMSEG_SPWC_BENCH_ROWS'
# where `make bench-peers` puts other toolkits
PEERS = Path(os.environ.get(
    'MMSEG_SPWC_BENCH_PEERS', Path(__file__).parent / '.peers'))

clock = time.process_time
torch.set_num_threads(1)


@dataclasses.dataclass
class Row:
    """One comparison.

    Args:
        what (str): What is measured.
        ours (float): The toolkit's number.
        rival (float): The rival's number.
        name (str): Who the rival is.
        aim (float, optional): The largest ratio that is good enough.
        setting (str): Sizes and options in a few words.
        unit (str): Of both numbers. Defaults to 'ms'.
        more_is_better (bool): For accuracies and rates: the ratio is then
            the rival's number to ours. Defaults to False.
    """
    what: str
    ours: float
    rival: float
    name: str
    aim: float | None = None
    setting: str = ''
    unit: str = 'ms'
    more_is_better: bool = False

    @property
    def ratio(self) -> float:
        """Our cost in units of the rival's: below 1 we are cheaper."""
        pair = self.ours, self.rival
        ours, rival = reversed(pair) if self.more_is_better else pair
        return ours / rival

    def cells(self) -> list[str]:
        """The row as text: what, ours, rival, ratio, aim, setting."""
        aim = '' if self.aim is None else f'<= {self.aim:.2g}' if \
            self.aim < 0.1 else f'<= {self.aim:.2f}'
        if self.aim is not None and self.ratio > self.aim:
            aim += ' (missed)'
        return [self.what, f'{number(self.ours)} {self.unit}',
                f'{self.name}: {number(self.rival)} {self.unit}',
                number(self.ratio), aim, self.setting]


HEADER = ['what', 'ours', 'rival', 'ratio', 'aim', 'setting']


def number(value: float) -> str:
    """Three digits that count."""
    return f'{value:.0f}' if abs(value) >= 100 else f'{value:#.3g}'


def table(rows: list[Row]) -> str:
    """The rows as a Markdown table that also reads well in a terminal."""
    lines = [HEADER, *(row.cells() for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    lines.insert(1, ['-' * width for width in widths])
    return '\n'.join(
        '| ' + ' | '.join(cell.ljust(width) for cell, width in
                          zip(line, widths, strict=True)) + ' |'
        for line in lines)


def report(measure: Callable[[argparse.Namespace], Iterator[Row]],
           parser: argparse.ArgumentParser | None = None) -> None:
    """The ``main`` of a benchmark: print its rows, and hand them on.

    Args:
        measure (Callable): Takes the options and yields rows.
        parser (ArgumentParser, optional): For the options.
    """
    args = (parser or argparse.ArgumentParser()).parse_args()
    rows = []
    for row in measure(args):
        rows.append(row)
        _hand_on(row=dataclasses.asdict(row))
    if rows:
        print(table(rows))


def note(sentence: str) -> None:
    """Say something that belongs to the table, such as what is missing."""
    print(sentence)
    _hand_on(note=sentence)


def leave_out(reason: str) -> None:
    """End without an error: this machine cannot run a benchmark."""
    note(f'Left out: {reason}')
    sys.exit()


def _hand_on(**line: Any) -> None:
    if os.environ.get(ROWS):
        with open(os.environ[ROWS], 'a') as file:
            file.write(json.dumps(line) + '\n')


def medians(sides: Mapping[Any, Callable], repeats: int) -> dict[Any, float]:
    """Median CPU milliseconds of every side.

    The sides take turns, so that whatever changes the machine's pace slows
    all of them alike; a first turn warms up.

    Args:
        sides (Mapping): Functions without arguments.
        repeats (int): Turns that count.
    """
    times = {key: [] for key in sides}
    for turn in range(repeats + 1):
        for key, function in sides.items():
            begin = clock()
            function()
            if turn:
                times[key].append(1e3 * (clock() - begin))
    return {key: statistics.median(values) for key, values in times.items()}


def mnist_mlp() -> nn.Module:
    """The network of Permuted-MNIST, 574 410 parameters."""
    return nn.Sequential(
        nn.Linear(1024, 400), nn.ReLU(), nn.Linear(400, 400), nn.ReLU(),
        nn.Linear(400, 10))
