"""The quiet terminal: what is shown, and what goes to the log alone."""
import io
import logging
import warnings

import pytest
from mmengine.logging import MMLogger, print_log
from rich.console import Console

from mmseg_spwc.terminal import (
    Display,
    display,
    quieten,
    say,
    shown,
    time_left,
    track,
    warn,
)


def console(terminal: bool) -> Console:
    return Console(file=io.StringIO(), force_terminal=terminal, width=100)


@pytest.fixture
def logger(tmp_path):
    made = MMLogger.get_instance(
        f'display-{tmp_path.name}', log_file=str(tmp_path / 'run.log'))
    quieten(made)
    yield made
    MMLogger._instance_dict.pop(made.instance_name)


def log_of(tmp_path) -> str:
    return (tmp_path / 'run.log').read_text()


def test_plain_display_says_and_logs(logger, tmp_path, capsys):
    plain = console(terminal=False)
    with shown(verbose=False, console=plain) as chosen:
        assert chosen.quiet and chosen.disable and display() is chosen
        print_log('hook list', 'current')
        say('step done')
        warn('look here')
    assert plain.file.getvalue().splitlines() == ['step done', 'look here']
    assert all(text in log_of(tmp_path)
               for text in ('hook list', 'step done', 'look here'))
    assert capsys.readouterr().out == ''


def test_errors_reach_a_quiet_terminal(logger, capsys):
    with shown(verbose=False, console=console(terminal=False)):
        for handler in logger.handlers:
            assert handler.filter(logging.makeLogRecord(
                dict(levelno=logging.ERROR, levelname='ERROR', msg='bad')))


def test_verbose_leaves_mmengine_alone(logger, tmp_path):
    record = logging.makeLogRecord(
        dict(levelno=logging.INFO, levelname='INFO', msg='line'))
    stream = logger.handlers[0]
    with shown(verbose=True, console=console(terminal=True)) as chosen:
        assert not chosen.quiet
        assert stream.filter(record)
        say('step done')
    assert 'step done' in log_of(tmp_path)
    with shown(verbose=False, console=console(terminal=True)):
        assert not stream.filter(record)
    assert stream.filter(record)  # only while a run is shown


def test_warnings_of_libraries_go_to_the_log(logger, tmp_path, recwarn):
    plain = console(terminal=False)
    with shown(verbose=False, console=plain):
        warnings.warn('old library', UserWarning, stacklevel=1)
    assert 'old library' in log_of(tmp_path)
    assert plain.file.getvalue() == '' and not recwarn.list
    with pytest.warns(UserWarning, match='again'):
        warnings.warn('again', UserWarning, stacklevel=1)


def test_live_display_draws_bars_and_takes_them_away(logger):
    live = console(terminal=True)
    with shown(verbose=False, console=live) as chosen:
        assert chosen.quiet and not chosen.disable
        chosen.begin('step 2 of 5', 40)
        chosen.sequence('0:01:00 left', (2, 5))
        chosen.show(10, 'loss 0.5')
        chosen.refresh()
        drawn = live.file.getvalue()
        assert 'step 2 of 5' in drawn and '10/40' in drawn
        assert 'loss 0.5' in drawn and '1/5' in drawn
        chosen.end()
        assert len(chosen.tasks) == 1  # the sequence's


def test_no_bar_is_drawn_before_it_has_a_name(logger):
    live = console(terminal=True)
    with shown(verbose=False, console=live) as chosen:
        chosen.begin('step 2 of 5', 40)
        chosen.end()
    assert '0/40' in live.file.getvalue()
    assert '0/1' not in live.file.getvalue()


def test_plain_display_tells_progress_once_in_a_while(logger):
    plain = console(terminal=False)
    chosen = Display(plain)
    chosen.begin('step 1 of 2', 7)
    assert not chosen.due()
    chosen.next = 0
    assert chosen.due()
    chosen.sequence('0:00:09 left', (1, 2))
    chosen.show(3, 'loss 1')
    assert plain.file.getvalue() == 'step 1 of 2  3/7  loss 1  0:00:09 left\n'
    assert not chosen.due()


def test_track_yields_all_also_where_nothing_is_shown():
    assert list(track(iter('abc'), 3, 'letters')) == ['a', 'b', 'c']
    plain = console(terminal=False)
    with shown(verbose=False, console=plain) as chosen:
        chosen.next = 0
        assert list(track(iter('abc'), 3, 'letters')) == ['a', 'b', 'c']
    assert plain.file.getvalue() == 'letters  1/3\n'


def test_time_left():
    assert time_left(3723.9) == '1:02:03'
