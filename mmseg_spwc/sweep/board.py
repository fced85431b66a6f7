"""What a sweep says in the terminal: a live table, or short lines."""
import contextlib
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rich.console import Console
from rich.live import Live
from rich.table import Table

from mmseg_spwc.visualization.scores import percent

ORDER = ('running', 'failed', 'waiting', 'finished')
STYLES = dict(running='bold', failed='red', waiting='dim', finished='green')


@dataclass
class Row:
    """How far a trial has got.

    Args:
        name (str): The trial.
        total (int): Steps that it trains.
        done (int): Steps that are recorded.
        state (str): ``waiting``, ``running``, ``finished`` or ``failed``.
        score (float, optional): Held-out score after the last of them.
        attempt (int): How often it was started by this sweep.
        reason (str): Why it failed.
    """
    name: str
    total: int
    done: int = 0
    state: str = 'waiting'
    score: float | None = None
    attempt: int = 0
    reason: str = ''

    @property
    def remark(self) -> str:
        if self.state == 'running' and self.attempt > 1:
            return f'attempt {self.attempt}'
        return self.reason


class Board:
    """Shows rows while they change.

    In a terminal a table stays in place; elsewhere, in a log file for
    instance, a line tells every change of state and every finished step.

    Args:
        rows (Sequence[Row]): The trials, changed by the caller.
        score (str): What the score is called.
        console (Console): Where to write.
    """

    def __init__(self, rows: Sequence[Row], score: str,
                 console: Console) -> None:
        self.rows = rows
        self.score = score
        self.console = console
        self.left = ''
        self._shown = {row.name: replace(row) for row in rows}

    @contextlib.contextmanager
    def shown(self) -> Iterator[None]:
        """Show the table for the time of a block."""
        if not self.console.is_terminal:
            self.console.print(self.summary())
            yield
            self.update()
            return
        with Live(get_renderable=self.table, console=self.console,
                  refresh_per_second=1, redirect_stdout=False,
                  redirect_stderr=False):
            yield

    def update(self) -> None:
        """Tell what has changed; a terminal is drawn anew by itself."""
        if self.console.is_terminal:
            return
        for row in self.rows:
            line = _line(self._shown[row.name], row, self.score)
            if line:
                self.console.print(
                    f'{time.strftime("%H:%M:%S")} {row.name}: {line}',
                    markup=False, highlight=False, soft_wrap=True)
                self._shown[row.name] = replace(row)

    def summary(self) -> str:
        """One line on all trials."""
        counts = [(state, sum(row.state == state for row in self.rows))
                  for state in ORDER]
        text = ', '.join(f'{n} {state}' for state, n in counts if n)
        return f'{len(self.rows)} runs: {text}{self.left}'

    def table(self) -> Table:
        """The rows that matter most, as many as fit."""
        table = Table(box=None, caption=self.summary(), pad_edge=False,
                      caption_justify='left', caption_style='')
        for heading in ('trial', 'state', 'step', self.score, ''):
            table.add_column(heading, overflow='ellipsis', no_wrap=True)
        room = max(self.console.height - 4, 1)
        rows = sorted(self.rows, key=lambda row: ORDER.index(row.state))
        for row in rows[:room]:
            table.add_row(row.name, row.state, f'{row.done}/{row.total}',
                          percent(row.score), row.remark,
                          style=STYLES[row.state])
        if len(rows) > room:
            table.add_row(f'and {len(rows) - room} more', style='dim')
        return table


def _line(before: Row, now: Row, score: str) -> str:
    """What to tell of a row, '' if nothing has changed."""
    if now.state == 'failed' != before.state:
        return f'failed: {now.reason}'
    if now.state == 'finished' != before.state:
        return f'finished, {score} {percent(now.score)}'
    if now.state == 'running' and now.attempt > before.attempt:
        return f'running, attempt {now.attempt}' if now.attempt > 1 \
            else 'running'
    if now.done > before.done:
        return f'step {now.done} of {now.total} done, {score} ' \
            f'{percent(now.score)}'
    return ''
