"""What the terminal shows of a sweep: a live table, or short lines."""
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rich.console import Console
from rich.table import Table

from mmseg_spwc.terminal import Display
from mmseg_spwc.visualization.scores import percent

STYLES = dict(running='bold', failed='red', waiting='dim', finished='green')


@dataclass
class Row:
    """How far a trial has got."""
    name: str
    total: int  # steps that it trains
    done: int = 0  # steps that are recorded
    state: str = 'waiting'  # or another of STYLES
    score: float | None = None  # held-out, after the last recorded step
    attempt: int = 0  # how often it was started by this sweep
    reason: str = ''  # why it failed

    @property
    def remark(self) -> str:
        if self.state == 'running' and self.attempt > 1:
            return f'attempt {self.attempt}'
        return self.reason


class Board(Display):
    """A live table in a terminal; elsewhere, as in a log file, a line for
    every change of state and every finished step."""

    def __init__(self, rows: Sequence[Row], score: str,
                 console: Console) -> None:
        self.rows = rows
        self.score = score
        self.room = max(console.height - 4, 1)
        self.left = ''
        self._told = {row.name: replace(row) for row in rows}
        super().__init__(console, transient=False, refresh_per_second=1,
                         redirect_stdout=False, redirect_stderr=False)

    def start(self) -> None:
        if self.disable:
            self.line(self.summary())
        super().start()

    def stop(self) -> None:
        self.tell()
        super().stop()

    def tell(self) -> None:
        """Print what has changed; a terminal redraws itself."""
        for row in self.rows if self.disable else ():
            text = _change(self._told[row.name], row, self.score)
            if text:
                self.line(f'{time.strftime("%H:%M:%S")} {row.name}: {text}')
                self._told[row.name] = replace(row)

    def summary(self) -> str:
        """One line on all trials."""
        states = [row.state for row in self.rows]
        text = ', '.join(f'{states.count(state)} {state}'
                         for state in STYLES if state in states)
        return f'{len(self.rows)} runs: {text}{self.left}'

    def get_renderables(self) -> Iterator[Table]:
        """As many rows as fit, running and failed ones first."""
        table = Table(box=None, caption=self.summary(), pad_edge=False,
                      caption_justify='left', caption_style='')
        for heading in ('trial', 'state', 'step', self.score, ''):
            table.add_column(heading, overflow='ellipsis', no_wrap=True)
        rows = sorted(self.rows, key=lambda row: [*STYLES].index(row.state))
        for row in rows[:self.room]:
            table.add_row(row.name, row.state, f'{row.done}/{row.total}',
                          percent(row.score), row.remark,
                          style=STYLES[row.state])
        if len(rows) > self.room:
            table.add_row(f'and {len(rows) - self.room} more', style='dim')
        yield table


def _change(before: Row, now: Row, score: str) -> str:
    """What to tell of a row, '' if nothing has changed."""
    if now.state == 'failed' != before.state:
        return f'failed: {now.reason}'
    if now.state == 'finished' != before.state:
        return f'finished, {score} {percent(now.score)}'
    if now.state == 'running' and now.attempt > before.attempt:
        return f'running, attempt {now.attempt}' if now.attempt > 1 \
            else 'running'
    if now.done > before.done:
        return f'{now.done} of {now.total} steps done, {score} ' \
            f'{percent(now.score)}'
    return ''
