"""The tools that look at machines and tests."""
import ast
import json
import sys

import pytest
import scripts

from mmseg_spwc import compat


def test_the_doctor_ends_well_where_training_can_work(capsys):
    assert scripts.load('tools/doctor.py').main() == 0
    text = capsys.readouterr().out
    for word in ('mmsegmentation', 'GPUs', 'ray', 'shapes', 'Training can'):
        assert word in text


def test_the_doctor_says_what_to_install(monkeypatch, capsys):
    """And tells an unsupported stack by its exit code."""
    monkeypatch.setitem(sys.modules, 'mmseg_spwc.engine', None)
    assert scripts.load('tools/doctor.py').main() == 1
    text = capsys.readouterr().out
    assert '! a small run cannot begin' in text and 'cannot work' in text
    assert 'mmseg_spwc.engine' in text


def test_the_doctor_sees_what_only_a_run_needs(monkeypatch, capsys):
    monkeypatch.delattr('torch.nn.Module.named_modules')
    assert scripts.load('tools/doctor.py').main() == 1
    assert "no attribute 'named_modules'" in capsys.readouterr().out


def test_faults_change_one_place_and_still_compile():
    faults = scripts.load('tools/faults.py')
    path = 'mmseg_spwc/consolidation/blip.py'
    places = faults.Places(path)
    assert len(places.found) > 3
    for i in range(len(places.found)):
        what, text = places.faulty(i)
        assert text != places.text and ' -> ' in what
        ast.parse(text)
    assert 'tests/test_consolidation/test_blip.py' in faults.tests_of(path)


def test_slow_tests_go_on_where_they_stopped(tmp_path, monkeypatch, capsys):
    slow, ran = scripts.load('tools/slow_tests.py'), []
    files = [slow.ROOT / f'tests/{name}.py' for name in 'abc']
    monkeypatch.setattr(slow, 'STATE', tmp_path / 'state.json')
    monkeypatch.setattr(slow, 'slow_files', lambda: files)
    monkeypatch.setattr(slow, 'version', lambda: 'now')

    def run(path):
        ran.append(path.stem)
        outcome = 'failed' if path.stem == 'b' and ran.count('b') == 1 \
            else 'passed'
        return dict(outcome=outcome, summary='', seconds=1,
                    skipped=['[1] no Ray'] if path.stem == 'c' else [])

    monkeypatch.setattr(slow, 'run', run)
    assert slow.main([]) == 1 and ran == ['a', 'b', 'c']
    assert 'skipped in tests/c.py: [1] no Ray' in capsys.readouterr().out
    assert slow.main([]) == 0 and ran == ['a', 'b', 'c', 'b']
    assert slow.main(['--fresh']) == 0 and len(ran) == 7
    assert set(json.loads(slow.STATE.read_text())) == {
        'tests/a.py', 'tests/b.py', 'tests/c.py'}


@pytest.mark.parametrize('stack', ['classic', 'continuation'])
def test_the_pins_of_a_stack_are_supported(stack):
    from packaging.requirements import Requirement
    folder = scripts.ROOT / 'requirements/stacks'
    pins = {}
    for name in (f'{stack}.txt', f'{stack}-mmcv.txt'):
        for line in (folder / name).read_text().splitlines():
            if line and not line.startswith('#'):
                wish = Requirement(line)
                pins[wish.name] = str(wish.specifier).removeprefix('==')
    from packaging.version import Version
    for distributions in compat.REQUIRED.values():
        name, = set(distributions) & set(pins)
        low, high = distributions[name]
        assert Version(low) <= Version(pins[name]) < Version(high)
