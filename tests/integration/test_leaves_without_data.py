"""Every leaf, started without data: it says where they go, or it starts."""
import re

import pytest
from digit_runs import ROOT
from wrong_commands import tool
from wrong_inputs import Case

from mmseg_spwc.datasets import shapes
from mmseg_spwc.engine import ContinualRunner

LEAVES = sorted(
    path for path in (ROOT / 'configs').rglob('*.py')
    if not {'_base_', 'sweeps'}.intersection(path.parts))
GENERATED = re.compile('shapes|digits')  # nothing to put anywhere


class Started(BaseException):
    """All checks were passed, and step 0 would begin."""


@pytest.fixture(scope='module')
def data(tmp_path_factory):
    """A folder of all datasets that holds none, or the shapes alone."""
    root = tmp_path_factory.mktemp('data')
    shapes.generate_shapes(root / 'shapes', num_train=160, num_val=4, size=32)
    (root / 'none').mkdir()
    return root


@pytest.fixture
def start(data, tmp_path, monkeypatch):

    def run(leaf):
        generated = GENERATED.search(leaf.stem)
        root = data if generated else data / 'none'
        monkeypatch.setenv('MMSEG_SPWC_DATA', str(root))
        tool('train', leaf)(Case(tmp_path, data, None, monkeypatch))

    def begin(self, *_):
        raise Started

    monkeypatch.setattr(ContinualRunner, '_run_step', begin)
    # others than these cost ten seconds
    monkeypatch.setattr(shapes, 'generate_shapes', lambda *_, **__: None)
    return run


def leaves():
    """All of them; quickly one of every dataset."""
    seen = set()
    for leaf in LEAVES:
        data = leaf.stem.rpartition('_')[2]
        marks = pytest.mark.slow if data in seen else ()
        seen.add(data)
        yield pytest.param(leaf, id=leaf.stem, marks=marks)


@pytest.mark.parametrize('leaf', list(leaves()))
def test_says_where_data_go_or_starts(leaf, start, data, capsys):
    if GENERATED.search(leaf.stem):
        with pytest.raises(Started):
            start(leaf)
        return
    with pytest.raises(SystemExit) as caught:
        start(leaf)
    said = capsys.readouterr().err
    assert caught.value.code == 2
    assert said.startswith('error: ') and said.count('\n') == 1, said
    for part in (f'{data}/none/', 'data_root', 'MMSEG_SPWC_DATA',
                 'data/README.md'):
        assert part in said, said


def test_there_are_leaves_of_both_kinds():
    generated = [leaf for leaf in LEAVES if GENERATED.search(leaf.stem)]
    assert 20 < len(generated) < len(LEAVES) - 40
