"""What the terminal shows of a sweep."""
import io
import re

from rich.console import Console

from mmseg_spwc.sweep.board import Board, Row


def board(rows, terminal=False, height=25):
    out = io.StringIO()
    console = Console(file=out, force_terminal=terminal, width=90,
                      height=height, color_system=None,
                      force_interactive=False)
    return Board(rows, 'held-out accuracy', console), out


def test_short_lines_where_there_is_no_terminal():
    rows = [Row('a', 3), Row('b', 3), Row('c', 3, done=3, state='finished')]
    shown, out = board(rows)
    with shown:
        assert out.getvalue() == '3 runs: 2 waiting, 1 finished\n'
        rows[0].state, rows[0].attempt = 'running', 1
        shown.tell()
        shown.tell()  # nothing new
        rows[0].done, rows[0].score = 1, 0.5
        shown.tell()
        rows[0].attempt = 2
        shown.tell()
        rows[0].state, rows[0].done, rows[0].score = 'finished', 3, 0.25
        rows[1].state, rows[1].reason = 'failed', 'No [data].'
    lines = [re.sub(r'^\d\d:\d\d:\d\d ', '', line)
             for line in out.getvalue().splitlines()[1:]]
    assert lines == [
        'a: running',
        'a: 1 of 3 steps done, held-out accuracy 50.0',
        'a: running, attempt 2',
        'a: finished, held-out accuracy 25.0',
        'b: failed: No [data].']


def test_the_table_shows_what_matters_first():
    rows = [Row(f'done{i}', 2, done=2, state='finished') for i in range(30)]
    rows += [Row('now', 2, done=1, state='running', score=.5, attempt=2),
             Row('bad', 2, state='failed', reason='it was ended by signal 9')]
    shown, out = board(rows, terminal=True, height=10)
    shown.left = ', about 3 min left'
    shown.console.print(shown.get_renderable())
    lines = out.getvalue().splitlines()
    assert len(lines) <= 10
    assert re.match(r'now +running +1/2 +50.0 +attempt 2', lines[1])
    assert 'it was ended by signal 9' in lines[2]
    assert lines[-2].startswith('and 26 more')
    assert lines[-1].strip() == ('32 runs: 1 running, 1 failed, 30 '
                                 'finished, about 3 min left')


def test_a_terminal_gets_no_lines():
    shown, out = board([Row('a', 1)], terminal=True)
    shown.rows[0].state = 'running'
    shown.tell()
    assert out.getvalue() == ''
