"""The tree of configs stays small: few leaves, few files behind each."""
import re
from pathlib import Path

import pytest

CONFIGS = Path(__file__).resolve().parents[1] / 'configs'
FILES = sorted(
    path for path in CONFIGS.rglob('*.py') if 'sweeps' not in path.parts)
LEAVES = [path for path in FILES if '_base_' not in path.parts]


def bases_of(path: Path) -> list:
    """The files of this project that a config names as its bases."""
    text = re.search(r'^_base_ = (\[.*?\]|.*?$)', path.read_text(),
                     re.MULTILINE | re.DOTALL)
    names = re.findall(r"'([^']+)'", text[1]) if text else []
    return [(path.parent / name).resolve() for name in names
            if '::' not in name]


def files_behind(path: Path) -> set:
    bases = bases_of(path)
    return set(bases).union(*map(files_behind, bases))


def levels_of(path: Path) -> int:
    return max((1 + levels_of(base) for base in bases_of(path)), default=0)


def test_a_leaf_is_a_method_a_data_set_and_a_network():
    assert 0 < len(LEAVES) <= 180
    for leaf in LEAVES:
        assert len(leaf.stem.split('_')) == 2 + (leaf.parent.name != 'demo')


@pytest.mark.parametrize('leaf', LEAVES, ids=lambda path: path.stem)
def test_a_leaf_is_short(leaf):
    lines = leaf.read_text().splitlines()
    command = f'# python tools/train.py {leaf.relative_to(CONFIGS.parent)}'
    assert lines[0] == command
    assert len(lines) <= 16
    assert levels_of(leaf) <= 3
    if 'classification' not in leaf.parts:
        assert len(files_behind(leaf)) <= 8


def test_every_fragment_has_a_leaf():
    used = set().union(*map(files_behind, LEAVES))
    assert used == set(FILES) - set(LEAVES)
