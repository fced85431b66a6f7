"""What a person sees of a run.

By default that is one live display: the sequence, the step's progress and,
after each step, a summary. Where the output is not a terminal (a pipe, CI,
Slurm) it is a few short lines. MMEngine's own lines, the environment, the
config and the warnings of other libraries go to the log files, where they are
as complete as ever; ``verbose=True`` brings them back to the terminal.
"""
import contextlib
import datetime
import logging
import time
import warnings
from collections.abc import Iterable, Iterator

from mmengine.dist import is_main_process
from mmengine.hooks import Hook
from mmengine.logging import MMLogger, print_log
from mmengine.runner import LogProcessor
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
)

from mmseg_spwc.registry import HOOKS, LOG_PROCESSORS


class Display(Progress):
    """Bars that are redrawn in place; messages scroll by above them.

    Where they cannot be redrawn it shows short lines, one a minute. Without a
    console the terminal is left to MMEngine: verbose runs, and other ranks.
    """

    def __init__(self, console: Console | None = None, **options) -> None:
        self.quiet = console is not None
        super().__init__(
            TextColumn('{task.description}'), BarColumn(bar_width=24),
            MofNCompleteColumn(), TextColumn('{task.fields[note]}'),
            console=console,
            disable=not (self.quiet and console.is_terminal),
            **{**dict(transient=True, refresh_per_second=5), **options})
        self.pause = 60. if self.disable else 0.2
        self.next = time.monotonic() + self.pause
        self.text, self.total, self.note = '', 0, ''
        self.bars: dict[str, TaskID] = {}

    def stop(self) -> None:
        if not self.disable:  # rich would end a pipe with an empty line
            super().stop()

    def line(self, text: str) -> None:
        """Print a line as it is, unless the terminal is MMEngine's."""
        if self.quiet:
            self.console.print(text, markup=False, highlight=False,
                               soft_wrap=True)

    def say(self, text: str, level: int = logging.INFO) -> None:
        """Print a line on the terminal and in the log."""
        print_log(text, 'current', level)
        self.line(text.strip('\n'))

    def begin(self, text: str, total: int) -> None:
        """Begin something of ``total`` parts."""
        self.text, self.total = text, total
        self._draw('part', text, 0, total, '')

    def due(self) -> bool:
        """Whether it is time to show something new."""
        return self.quiet and time.monotonic() >= self.next

    def show(self, done: int, note: str = '') -> None:
        """Show how much of it is done."""
        self.next = time.monotonic() + self.pause
        self._draw('part', self.text, done, self.total, note)
        if self.disable:
            self.line('  '.join(filter(None, (
                self.text, f'{done}/{self.total}', note, self.note))))

    def sequence(self, note: str, place: tuple[int, int]) -> None:
        """Show which of how many steps this is."""
        self.note = note
        self._draw('steps', 'finished steps', place[0] - 1, place[1], note)

    def end(self) -> None:
        """Take what was begun off the display."""
        if 'part' in self.bars:
            self.remove_task(self.bars.pop('part'))

    def _draw(self, bar: str, text: str, done: int, total: int,
              note: str) -> None:
        if bar not in self.bars:  # draws it at once
            self.bars[bar] = self.add_task(text, note=note, total=total)
        self.update(self.bars[bar], description=text, completed=done,
                    total=total, note=note)


_current = Display()


def display() -> Display:
    """The display of the current run."""
    return _current


def say(text: str, level: int = logging.INFO) -> None:
    """Print a line on the terminal and in the log."""
    _current.say(text, level)


def warn(text: str) -> None:
    """Warn on the terminal and in the log; the run continues."""
    _current.say(text, logging.WARNING)


def track(parts: Iterable, total: int, text: str) -> Iterator:
    """Yield the parts, and show how many of them are done."""
    _current.begin(text, total)
    try:
        for done, part in enumerate(parts, 1):
            yield part
            if _current.due():
                _current.show(done)
    finally:
        _current.end()


@contextlib.contextmanager
def shown(verbose: bool, console: Console | None = None) -> Iterator[Display]:
    """Show a run, quietly or, if ``verbose``, as MMEngine does.

    Meanwhile :func:`display` returns what is yielded.
    """
    global _current
    before, _current = _current, Display(
        None if verbose or not is_main_process() else console or Console())
    quieten(MMLogger.get_current_instance())
    try:
        with _current, _warnings_to_log(_current.quiet):
            yield _current
    finally:
        _current = before


def quieten(logger: MMLogger) -> None:
    """Let only errors of a logger reach a quiet terminal."""
    for handler in logger.handlers:
        if not isinstance(handler, logging.FileHandler):
            handler.addFilter(_passes)  # the same one is added once


def _passes(record: logging.LogRecord) -> bool:
    return not _current.quiet or record.levelno >= logging.ERROR


@contextlib.contextmanager
def _warnings_to_log(quiet: bool) -> Iterator[None]:
    """Send the warnings of libraries to the run's log."""
    before = warnings.showwarning
    if quiet:
        warnings.showwarning = lambda *facts: print_log(
            warnings.formatwarning(*facts[:4]).strip(), 'current',
            logging.WARNING)
    try:
        yield
    finally:
        warnings.showwarning = before


def time_left(seconds: float) -> str:
    """``1:02:03``, as a clock shows it."""
    return str(datetime.timedelta(seconds=int(seconds)))


def _later(runner) -> int:
    """Iterations of the steps after the one of a runner, if it knows."""
    context = getattr(runner, 'context', None)
    return context.later_iterations if context else 0


@LOG_PROCESSORS.register_module()
class SequenceLogProcessor(LogProcessor):
    """Says step, epoch and the time left for the whole sequence.

    The time left is the iterations left in this step and in all later ones
    times the smoothed time of an iteration.

    Args:
        step (int): Which step runs, from 0.
        place (str): Its place among the steps that run, as '1/5'.
        **kwargs: Those of MMEngine's ``LogProcessor``.
    """

    def __init__(self, *args, step: int, place: str, **kwargs) -> None:
        super().__init__(*args, **kwargs)
        self.step = step
        self.place = place

    @property
    def title(self) -> str:
        return f'step {self.step} ({self.place})'

    def get_log_after_iter(self, runner, batch_idx: int,
                           mode: str) -> tuple:
        tag, line = super().get_log_after_iter(runner, batch_idx, mode)
        if mode == 'train':
            left = runner.max_iters - runner.iter - 1 + _later(runner)
            line = f'{self.title.capitalize()}  {line}  ' \
                f'sequence eta: {time_left(left * tag.get("time", 0))}'
        return tag, line


@HOOKS.register_module()
class DisplayHook(Hook):
    """Shows how far step and sequence are, see :class:`Display`."""

    priority = 'VERY_LOW'
    smoothing = 20  # iterations whose mean time tells the time left

    def before_train(self, runner) -> None:
        title = getattr(runner.log_processor, 'title', 'training')
        display().begin(title, runner.max_iters)

    def after_train_iter(self, runner, batch_idx, data_batch=None,
                         outputs=None) -> None:
        if not display().due():
            return
        processor, scalars = runner.log_processor, runner.message_hub
        done = runner.iter + 1
        left, note, whole = runner.max_iters - done, [], ''
        if 'train/loss' in scalars.log_scalars:
            loss = scalars.get_scalar('train/loss').current()
            note.append(f'loss {loss:.4g}')
        if 'train/time' in scalars.log_scalars:
            pace = scalars.get_scalar('train/time').mean(self.smoothing)
            note.append(f'{time_left(pace * left)} left')
            left += _later(runner)
            whole = f'{time_left(pace * left)} left'
        place, places = getattr(processor, 'place', '1/1').split('/')
        display().sequence(f'sequence {whole}', (int(place), int(places)))
        display().show(done, ', '.join(note))

    def before_val_epoch(self, runner) -> None:
        display().begin('held-out images', len(runner.val_dataloader))

    def before_test_epoch(self, runner) -> None:
        display().begin('test images', len(runner.test_dataloader))

    def after_val_iter(self, runner, batch_idx, data_batch=None,
                       outputs=None) -> None:
        if display().due():
            display().show(batch_idx + 1)

    def after_val_epoch(self, runner, metrics=None) -> None:
        display().end()

    after_test_iter = after_val_iter
    after_train = after_test_epoch = after_val_epoch
