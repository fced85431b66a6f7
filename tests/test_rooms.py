"""Every room imports only what docs/architecture.md allows it."""
import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / 'mmseg_spwc'
SHARED = {'errors', 'labels', 'registry', 'structures', 'terminal',
          'utils'}
OPENMMLAB = {'mmengine', 'mmseg', 'mmcv', 'mmpretrain'}
ALL = {'selfpaced', 'scenario', 'consolidation', 'record', 'datasets',
       'models', 'evaluation', 'visualization', 'trackers', 'engine'}


def table() -> dict[str, tuple[set, bool]]:
    """Room: what it may import, and whether OpenMMLab is among it."""
    text = (ROOT / 'docs/architecture.md').read_text()
    rows = text.partition('<!-- rooms -->')[2].partition('<!-- end -->')[0]
    rooms = {}
    for row in rows.strip().splitlines()[2:]:
        _, room, _, allowed, _ = (cell.strip() for cell in row.split('|'))
        names = set(allowed.split('`')[1::2])
        if 'all of the above' in allowed:
            names |= ALL
        rooms[room.strip('`')] = names, 'no OpenMMLab' not in allowed
    return rooms


TABLE = table()


def imports_of(path: Path) -> Iterator[str]:
    """Names of all imported modules, in full."""
    package = ['mmseg_spwc', *path.relative_to(PACKAGE).parts[:-1]]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[:len(package) - node.level + 1] if node.level \
                else []
            module = '.'.join([*base, *filter(None, [node.module])])
            if module == 'mmseg_spwc':
                yield from (f'{module}.{a.name}' for a in node.names)
            else:
                yield module


def files_of(room: str) -> list[Path]:
    single = PACKAGE / f'{room}.py'
    return [single] if single.exists() else sorted(
        (PACKAGE / room).rglob('*.py'))


def test_every_room_is_in_the_table():
    rooms = {p.name for p in PACKAGE.iterdir()
             if p.is_dir() and (p / '__init__.py').exists()}
    assert rooms - {'utils'} <= set(TABLE)
    assert all(files_of(room) for room in TABLE)


@pytest.mark.parametrize('room', TABLE)
def test_room_imports_what_it_may(room):
    allowed, openmmlab = TABLE[room]
    wrong = []
    for path in files_of(room):
        for name in imports_of(path):
            top, *rest = name.split('.')
            own = top == 'mmseg_spwc' and rest and rest[0] != room
            if (own and rest[0] not in allowed | SHARED
                    or top in OPENMMLAB and not openmmlab):
                wrong.append(f'{path.relative_to(ROOT)} imports {name}')
    assert not wrong


def test_nothing_in_utils_imports_a_room():
    for room in SHARED:
        for path in files_of(room):
            assert not [n for n in imports_of(path)
                        if n.split('.')[:1] == ['mmseg_spwc']
                        and n.split('.')[1] not in SHARED]


def test_every_file_on_the_map_exists():
    text = (ROOT / 'docs/architecture.md').read_text()
    named = {name for name in text.split('`')[1::2]
             if name.startswith(('mmseg_spwc/', 'configs/', 'tests/',
                                 'tools/')) and 'NAME' not in name}
    assert len(named) > 15
    assert not [n for n in named if not (ROOT / n.split()[0]).exists()]
