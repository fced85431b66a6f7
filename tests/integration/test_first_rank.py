"""What one rank does for all: they share its result and its failure."""
import os

import pytest
from forked_ranks import on_ranks

from mmseg_spwc.utils.distributed import from_first_rank


class Unreadable(Exception):
    """Cannot be made again from its text alone."""

    def __init__(self, text, more):
        super().__init__(text + more)


def act(folder):
    (folder / f'by_{os.environ["RANK"]}').touch()
    return dict(seen=os.listdir(folder))


def fail(kind):
    raise OSError(28, 'full') if kind == 'disk' else Unreadable('a', 'b')


def results(folder):
    assert from_first_rank(act, folder) == dict(seen=['by_0'])
    for kind, error, text in (('disk', OSError, 'full'),
                              ('other', RuntimeError, 'Unreadable: ab')):
        with pytest.raises(error, match=text):
            from_first_rank(fail, kind)


def test_two_ranks_hear_of_what_the_first_did(tmp_path):
    shared = tmp_path / 'shared'
    shared.mkdir()
    assert on_ranks(tmp_path / 'ranks', results, shared,
                    seconds=60) == ['done', 'done']


def test_a_single_process_keeps_the_error_itself():
    assert from_first_rank(sorted, [2, 1]) == [1, 2]
    with pytest.raises(Unreadable):
        from_first_rank(fail, 'other')
