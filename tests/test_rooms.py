"""Every room imports only what docs/architecture.md allows it."""
import ast
import collections
import importlib
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / 'mmseg_spwc'
SHARED = {'compat', 'errors', 'labels', 'registry', 'structures', 'terminal',
          'utils'}
LOADS_OPENMMLAB = {'compat', 'registry', 'structures', 'terminal'}
OPENMMLAB = {'mmengine', 'mmseg', 'mmcv', 'mmpretrain'}
ALL = {'selfpaced', 'scenario', 'consolidation', 'record', 'datasets',
       'models', 'evaluation', 'visualization', 'trackers', 'engine',
       'problems', 'runtime', 'config', 'memory'}


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
                    or not openmmlab and (top in OPENMMLAB or own
                                          and rest[0] in LOADS_OPENMMLAB)):
                wrong.append(f'{path.relative_to(ROOT)} imports {name}')
    assert not wrong


def test_nothing_in_utils_imports_a_room():
    for room in SHARED:
        for path in files_of(room):
            assert not [n for n in imports_of(path)
                        if n.split('.')[:1] == ['mmseg_spwc']
                        and n.split('.')[1] not in SHARED]


PURE = """
import sys


class Absent:

    def find_spec(self, name, path=None, target=None):
        if name.partition('.')[0] in {absent}:
            raise ModuleNotFoundError(name)


sys.meta_path.insert(0, Absent())
import torch
from torch import nn
{imports}
assert mmseg_spwc.selfpaced.priority_weights([.5, .9], k=1).tolist()[1] == 0
model = nn.Linear(3, 2)
importances = mmseg_spwc.consolidation.fisher_diagonal(
    model, [torch.ones(4, 3)])
store = mmseg_spwc.consolidation.StepStore({folder!r})
store.save(0, importances, dict(model.named_parameters()))
penalty = mmseg_spwc.consolidation.PerStepForm()(store, {{0: 1.}}, dict)
assert penalty.value(model.named_parameters()) == 0
assert mmseg_spwc.scenario.get_scenario('voc', '15-1').num_steps == 6
samples = [mmseg_spwc.memory.Sample('a', 0, {{1}})]
assert mmseg_spwc.memory.remember([samples], 2, 'reservoir') == samples
matrix = mmseg_spwc.evaluation.AccuracyMatrix([[.9], [.7, .8]])
assert abs(matrix.forgetting() - .2) < 1e-6
"""


def test_rooms_without_openmmlab_work_where_it_cannot_be_imported(tmp_path):
    rooms = [room for room, (_, openmmlab) in TABLE.items() if not openmmlab]
    assert {'selfpaced', 'scenario', 'consolidation'} <= set(rooms)
    code = PURE.format(
        absent=OPENMMLAB, folder=str(tmp_path), imports='\n'.join(
            f'import mmseg_spwc.{room}' for room in [*rooms, 'evaluation']))
    done = subprocess.run([sys.executable, '-c', code], cwd=ROOT,
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


INSIDE = re.compile(r'Inside `(\w+)/`:\n\n\| place .*\n.*\n((?:\|.*\n)+)')


@pytest.mark.parametrize(
    ('room', 'rows'),
    INSIDE.findall((ROOT / 'docs/architecture.md').read_text()))
def test_the_tables_of_files_are_the_tree(room, rows):
    places = [place for row in rows.splitlines()
              for place in row.split('|')[1].split('`')[1::2]]
    tree = [f'{path.name}/' if path.is_dir() else path.name
            for path in (PACKAGE / room).iterdir()
            if path.name[:2] != '__']
    assert sorted(places) == sorted(tree)


def test_every_file_on_the_map_exists():
    text = (ROOT / 'docs/architecture.md').read_text()
    named = {name for name in text.split('`')[1::2]
             if name.startswith(('mmseg_spwc/', 'configs/', 'tests/',
                                 'tools/')) and 'NAME' not in name}
    assert len(named) > 15
    assert not [n for n in named if not (ROOT / n.split()[0]).exists()]


def texts(*folders: str) -> str:
    """What is written in some folders, and in the pages beside them."""
    files = [path for folder in folders
             for path in sorted((ROOT / folder).rglob('*'))
             if path.suffix in {'.py', '.md', '.sh', '.html', '.js'}
             and '.mim' not in path.parts]
    return '\n'.join(path.read_text()
                     for path in [*files, *sorted(ROOT.glob('*.md'))])


def test_every_file_that_is_named_exists():
    named = re.findall(r'\bmmseg_spwc/[a-z_]+/[a-z_/]+\.py', texts(
        'mmseg_spwc', 'configs', 'docs', 'tools', 'benchmarks'))
    assert len(named) > 10
    assert not [name for name in named if not (ROOT / name).exists()]


def is_override(path: Path, kind: str, name: str) -> bool:
    module = '.'.join(path.relative_to(ROOT).with_suffix('').parts)
    found = getattr(importlib.import_module(
        module.removesuffix('.__init__')), kind)
    return any(hasattr(base, name) for base in found.__mro__[1:])


def test_nothing_is_there_for_tests_alone():
    counts = collections.Counter(re.findall(r'\w+', texts(
        'mmseg_spwc', 'configs', 'docs', 'tools', 'benchmarks')))
    alone = []
    for path in sorted(PACKAGE.rglob('*.py')):
        if '.mim' in path.parts:
            continue
        for node in ast.parse(path.read_text()).body:
            members = [(node, None)]
            if isinstance(node, ast.ClassDef):
                members += [(member, node.name) for member in node.body]
            alone += [
                f'{path.relative_to(ROOT)}: {member.name}'
                for member, kind in members
                if isinstance(member, ast.FunctionDef | ast.ClassDef)
                and counts[member.name] < 2 and not member.decorator_list
                and not member.name.startswith('__')
                and not (kind and is_override(path, kind, member.name))]
    assert not alone


def test_ranks_talk_through_mmengine():
    """Its collectives move tensors to where the backend wants them: NCCL
    fails on a CPU's, and gloo does not mind."""
    begun = {'init_process_group', 'is_initialized', 'destroy_process_group',
             'checkpoint', 'device_mesh', 'fsdp', 'run'}
    for path in PACKAGE.rglob('*.py'):
        text = path.read_text()
        found = re.findall(
            r'torch\.distributed(?:\.| import | as )\(?\s*(\w+)', text)
        assert set(found) <= begun, path
        assert not re.search(r'from torch import .*\bdistributed', text), path
