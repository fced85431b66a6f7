"""Puts small faults into the package, one at a time, and runs the tests.

A comparison is turned, a call is left out, a constant changed, a condition
negated, a sign flipped, in a copy of the repository. A fault that no test
notices shows what is not tested. The tests of a file are those that import it
or a name of its own, the quickest kind first::

    python tools/faults.py --count 30 --seed 1
    python tools/faults.py mmseg_spwc/models/rc.py --count 10
    python tools/faults.py --named faults.json     # [file, old, new] each
"""
import argparse
import ast
import contextlib
import importlib
import json
import os
import random
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CORE = ('selfpaced', 'scenario', 'consolidation', 'datasets', 'models',
        'evaluation', 'problems', 'runtime', 'config', 'engine', 'record.py')
TURNED = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE,
          ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
          ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add,
          ast.Div: ast.Mult, ast.And: ast.Or, ast.Or: ast.And,
          ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot,
          ast.IsNot: ast.Is}
SAID = ('print_log', 'say', 'warn', 'super')  # leaving these out says little


def parse_args(argv: list | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('files', nargs='*', help='Default: all of the core.')
    parser.add_argument('--count', type=int, default=30)
    parser.add_argument('--seed', type=int, default=0)
    parser.add_argument('--named', help='A JSON list of [file, old, new].')
    parser.add_argument('--tests', type=int, default=8,
                        help='Most test files for a fault.')
    parser.add_argument('--timeout', type=int, default=300,
                        help='Seconds of tests; a fault that takes longer '
                        'counts as noticed.')
    parser.add_argument('--list', action='store_true',
                        help='Only print the faults and their tests.')
    return parser.parse_args(argv)


def main(argv: list | None = None) -> int:
    args = parse_args(argv)
    faults = list(named_faults(args.named) if args.named else
                  random_faults(args.files, args.count, args.seed))
    if args.list:
        for path, what, _ in faults:
            tests = tests_of(path)[:args.tests]
            print(f'{path}: {what}: {" ".join(tests)}')
        return 0
    missed = []
    with repository_copy() as copy:
        import_libraries(copy)
        for path, what, text in faults:
            begin = time.monotonic()
            tests = tests_of(path)[:args.tests]
            (copy / path).write_text(text)
            noticed = not tests_pass(copy, tests, args.timeout)
            (copy / path).write_text((ROOT / path).read_text())
            if not noticed:
                missed.append((path, what))
            print(f'{"noticed" if noticed else "MISSED "} {path}: {what} '
                  f'({len(tests)} files, {time.monotonic() - begin:.0f} s)',
                  flush=True)
    print(f'{len(faults) - len(missed)} of {len(faults)} were noticed')
    return bool(missed)


def named_faults(path: str) -> Iterator[tuple[str, str, str]]:
    """Faults of a file, as (path, what, text of the file with it)."""
    for name, old, new in json.loads(Path(path).read_text()):
        text = (ROOT / name).read_text()
        if text.count(old) != 1:
            raise SystemExit(f'error: {name} has {old!r} '
                             f'{text.count(old)} times, not once.')
        yield name, f'{old!r} -> {new!r}', text.replace(old, new)


def random_faults(files: list, count: int,
                  seed: int) -> Iterator[tuple[str, str, str]]:
    """Draw faults evenly over all places where one can be put."""
    paths = files or sorted(
        str(p.relative_to(ROOT)) for room in CORE
        for p in [ROOT / 'mmseg_spwc' / room, *ROOT.joinpath(
            'mmseg_spwc', room).rglob('*.py')]
        if p.suffix == '.py' and p.name != '__init__.py')
    places = [(path, i) for path in paths
              for i in range(len(Places(path).found))]
    draw = random.Random(seed)
    for path, i in sorted(draw.sample(places, min(count, len(places)))):
        yield path, *Places(path).faulty(i)


class Places:
    """Where a fault can be put into a file, by text so that all else stays.
    """

    def __init__(self, path: str) -> None:
        self.text = (ROOT / path).read_text()
        self.tree = ast.parse(self.text)
        skipped = {id(inner) for node in ast.walk(self.tree)
                   if isinstance(node, ast.Raise | ast.JoinedStr)
                   or is_annotation(node)
                   for inner in ast.walk(node)}
        self.found = [
            (node, new) for node in ast.walk(self.tree)
            if id(node) not in skipped for new in faults_at(node)]

    def faulty(self, index: int) -> tuple[str, str]:
        """What is changed, and the text of the file with it."""
        node, new = self.found[index]
        raw = self.text.encode()  # as columns are counted
        lines = raw.splitlines(keepends=True)
        begin = sum(map(len, lines[:node.lineno - 1])) + node.col_offset
        end = sum(map(len, lines[:node.end_lineno - 1])) + node.end_col_offset
        old = raw[begin:end].decode()
        text = (raw[:begin] + new.encode() + raw[end:]).decode()
        compile(text, 'faulty', 'exec')
        return f'line {node.lineno}: {shorten(old)} -> {shorten(new)}', text


def faults_at(node: ast.AST) -> Iterator[str]:
    """What can stand in place of a part of the code."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        yield replaced(node, ops=[TURNED[type(node.ops[0])]()])
    elif isinstance(node, ast.BinOp | ast.BoolOp) and \
            type(node.op) in TURNED:
        yield replaced(node, op=TURNED[type(node.op)]())
    elif isinstance(node, ast.UnaryOp) and isinstance(
            node.op, ast.Not | ast.USub):
        yield f'({ast.unparse(node.operand)})'
    elif isinstance(node, ast.Constant) and type(node.value) in (
            int, float, bool):
        yield repr(not node.value if isinstance(node.value, bool)
                   else node.value + 1)
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) \
            and not re.match('|'.join(SAID), ast.unparse(node.value)):
        yield 'pass'


def is_annotation(node: ast.AST) -> bool:
    """Whether it is a part that computes nothing."""
    return isinstance(node, ast.Expr) and isinstance(
        node.value, ast.Constant)


def replaced(node: ast.AST, **fields) -> str:
    made = type(node)(**{**dict(ast.iter_fields(node)), **fields})
    return f'({ast.unparse(made)})'


def shorten(text: str) -> str:
    text = ' '.join(text.split())
    return text if len(text) < 60 else text[:57] + '...'


def tests_of(path: str) -> list[str]:
    """Test files that import a module or a name defined in it, those that
    name it in their own name first."""
    module = path.removesuffix('.py').replace('/', '.')
    tree = ast.parse((ROOT / path).read_text())
    names = {node.name for node in tree.body
             if isinstance(node, ast.ClassDef | ast.FunctionDef)
             and not node.name.startswith('_')}
    word = re.compile(r'\b(' + '|'.join(
        map(re.escape, [module, *sorted(names)])) + r')\b')
    stem = Path(path).stem.replace('_hook', '')
    found = []
    for test in sorted(ROOT.glob('tests/**/test_*.py')):
        if test.stem.endswith('_slow'):
            continue
        hits = len(word.findall(test.read_text()))
        near = stem in test.stem
        if hits or near:
            whole = 'integration' in test.parts
            found.append((not near, whole, -hits, str(test)))
    return [os.path.relpath(t, ROOT) for *_, t in sorted(found)]


@contextlib.contextmanager
def repository_copy() -> Iterator[Path]:
    """A copy of what tests need, in a temporary folder."""
    with tempfile.TemporaryDirectory(prefix='faults') as folder:
        copy = Path(folder, 'repository')
        left_out = shutil.ignore_patterns(
            '.git', '.venv', '__pycache__', 'work_dirs', '.*_cache', 'site')
        shutil.copytree(ROOT, copy, symlinks=True, ignore=left_out)
        yield copy


def import_libraries(copy: Path) -> None:
    """Import what does not change, once for all runs, which are forked."""
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(copy))
    os.chdir(copy)
    os.environ['PYTHONPATH'] = str(copy)
    importlib.import_module('mmseg_spwc.compat')  # makes the others work
    for name in ('mmpretrain.models', 'mmseg.models', 'pytest'):
        importlib.import_module(name)
    for name in [n for n in sys.modules if n.split('.')[0] == 'mmseg_spwc']:
        del sys.modules[name]


def tests_pass(copy: Path, tests: list[str], timeout: int) -> bool:
    """Run tests in a forked process until one fails."""
    if not tests:
        return True
    child = os.fork()
    if child == 0:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1), os.dup2(null, 2)
        import signal

        import pytest
        signal.alarm(timeout)  # the end of the process, not noticed by it
        os._exit(pytest.main(['-x', '-q', '-p', 'no:cacheprovider', *tests]))
    _, status = os.waitpid(child, 0)
    return status == 0


if __name__ == '__main__':
    sys.exit(main())
