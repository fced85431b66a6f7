"""What is imported is declared, and what is declared is imported."""
import ast
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# by the name to import: the name to install, where they differ
NAMES = dict(cv2='opencv-python', yaml='pyyaml', PIL='pillow',
             mmseg='mmsegmentation', sklearn='scikit-learn',
             pytorch_grad_cam='grad-cam')
USERS = {'torch', 'mmcv'}  # a build for CPUs or GPUs, lite or full
UNSAID = {'ftfy', 'regex', 'setuptools'}  # mmseg and MMEngine import them
PACKAGES = ('cls', 'optional', 'ray', 'runtime', 'trackers', 'web')


def declared(name: str) -> set:
    lines = (ROOT / f'requirements/{name}.txt').read_text().splitlines()
    return {re.match(r'[\w-]+', line)[0] for line in lines
            if not line.startswith('#')}


def imported() -> set:
    found = set()
    files = [path for folder in ('mmseg_spwc', 'tools')
             for path in (ROOT / folder).rglob('*.py')]
    for path in files:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                found.add(node.module)
    tops = {name.partition('.')[0] for name in found}
    own = {path.stem for path in ROOT.glob('tools/**/*.py')} | {'mmseg_spwc'}
    return {NAMES.get(name, name)
            for name in tops - own - set(sys.stdlib_module_names)}


def test_every_import_is_declared():
    every = set().union(*map(declared, (*PACKAGES, 'slow', 'tests')))
    assert imported() - USERS <= every


def test_what_is_declared_is_imported():
    assert declared('runtime') - UNSAID <= imported()
    for name in ('runtime', 'pinned'):
        text = (ROOT / f'requirements/{name}.txt').read_text()
        assert '# mmseg imports ftfy and regex' in text


def test_what_security_md_names_is_there():
    text = (ROOT / 'SECURITY.md').read_text()
    places = re.findall(
        r'`((?:\w+/)+(?:\w+\.py)?|record\.py|errors\.py)`', text)
    assert len(places) > 15
    for place in places:
        own = place.startswith(('tests/', 'tools/'))
        folder = ROOT if own else ROOT / 'mmseg_spwc'
        assert (folder / place).exists(), place


def test_what_every_user_needs_is_pinned():
    assert declared('runtime') <= declared('pinned')
