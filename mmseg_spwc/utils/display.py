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
from collections.abc import Iterable, Iterator

from mmengine.dist import is_main_process
from mmengine.logging import MMLogger, print_log
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
)


class Display:
    """Leaves the terminal to MMEngine: verbose runs, and other ranks."""

    quiet = False

    def say(self, text: str, level: int = logging.INFO) -> None:
        """Tell a person something, and the log."""
        print_log(text, 'current', level)

    def begin(self, text: str, total: int) -> None:
        """Begin something of ``total`` parts."""

    def due(self) -> bool:
        """Whether it is time to show something new."""
        return False

    def update(self, done: int, note: str = '') -> None:
        """Show how much of it is done."""

    def sequence(self, note: str, place: tuple[int, int]) -> None:
        """Show which of how many steps this is."""

    def end(self) -> None:
        """Take what was begun off the display."""


class PlainDisplay(Display):
    """Short lines: once in a while how far it is, and what is said.

    Args:
        console (Console): Where to.
        pause (float): Seconds between two lines on progress.
    """

    quiet = True

    def __init__(self, console: Console, pause: float = 60.) -> None:
        self.console = console
        self.pause = pause
        self.next = time.monotonic() + pause
        self.text, self.total, self.note = '', 0, ''

    def say(self, text: str, level: int = logging.INFO) -> None:
        super().say(text, level)
        self._print(text.strip('\n'))

    def begin(self, text: str, total: int) -> None:
        self.text, self.total = text, total

    def due(self) -> bool:
        return time.monotonic() >= self.next

    def update(self, done: int, note: str = '') -> None:
        self.next = time.monotonic() + self.pause
        self._print('  '.join(filter(None, (
            self.text, f'{done}/{self.total}', note, self.note))))

    def sequence(self, note: str, place: tuple[int, int]) -> None:
        self.note = note

    def _print(self, text: str) -> None:
        self.console.print(text, markup=False, highlight=False,
                           soft_wrap=True)


class LiveDisplay(PlainDisplay):
    """Bars that are redrawn in place; what is said scrolls by above."""

    def __init__(self, console: Console) -> None:
        super().__init__(console, pause=0.2)
        self.progress = Progress(
            TextColumn('{task.description}'), BarColumn(bar_width=24),
            MofNCompleteColumn(), TextColumn('{task.fields[note]}'),
            console=console, transient=True, refresh_per_second=5)
        self.bars: dict[str, TaskID] = {}

    def begin(self, text: str, total: int) -> None:
        self._draw('part', text, 0, total, '')

    def update(self, done: int, note: str = '') -> None:
        self.next = time.monotonic() + self.pause
        self._draw('part', None, done, None, note)

    def sequence(self, note: str, place: tuple[int, int]) -> None:
        step, steps = place
        self._draw('steps', 'finished steps', step - 1, steps, note)

    def end(self) -> None:
        if 'part' in self.bars:
            self.progress.remove_task(self.bars.pop('part'))

    def _draw(self, bar: str, text: str | None, done: int,
              total: int | None, note: str) -> None:
        if bar not in self.bars:
            self.bars[bar] = self.progress.add_task(
                text or '', note=note, total=total or 1)  # draws it at once
        self.progress.update(self.bars[bar], description=text,
                             completed=done, total=total, note=note)


_current = Display()


def display() -> Display:
    """The display of the run that goes on."""
    return _current


def say(text: str, level: int = logging.INFO) -> None:
    """Tell a person something, on the terminal and in the log."""
    _current.say(text, level)


def warn(text: str) -> None:
    """Say what a person should know, though the run goes on."""
    _current.say(text, logging.WARNING)


def track(parts: Iterable, total: int, text: str) -> Iterator:
    """Yield the parts, and show how many of them are done."""
    _current.begin(text, total)
    try:
        for done, part in enumerate(parts, 1):
            yield part
            if _current.due():
                _current.update(done)
    finally:
        _current.end()


@contextlib.contextmanager
def shown(verbose: bool, console: Console | None = None) -> Iterator[Display]:
    """Show a run, quietly or as MMEngine does.

    Args:
        verbose (bool): Leave the terminal to MMEngine's own lines.
        console (Console, optional): Where to. Defaults to standard output.

    Yields:
        Display: What :func:`display` returns meanwhile.
    """
    global _current
    before, live = _current, contextlib.nullcontext()
    console = console or Console()
    if verbose or not is_main_process():
        _current = Display()
    elif console.is_terminal:
        _current = LiveDisplay(console)
        live = _current.progress
    else:
        _current = PlainDisplay(console)
    quieten(MMLogger.get_current_instance())
    try:
        with live, _warnings_to_log(_current.quiet):
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
    if not quiet:
        yield
        return
    logger = logging.getLogger('py.warnings')
    handler = logging.Handler()
    handler.emit = lambda record: print_log(
        record.getMessage().strip(), 'current', logging.WARNING)
    propagate, logger.propagate = logger.propagate, False
    logger.addHandler(handler)
    logging.captureWarnings(True)
    try:
        yield
    finally:
        logging.captureWarnings(False)
        logger.removeHandler(handler)
        logger.propagate = propagate


def time_left(seconds: float) -> str:
    """``1:02:03``, as a clock shows it."""
    return str(datetime.timedelta(seconds=int(seconds)))
