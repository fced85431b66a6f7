"""The command ``mmseg-spwc`` finds the tools."""
import runpy
import sys

import pytest

from mmseg_spwc.cli import MIM, TOOLS, main


@pytest.fixture
def run(monkeypatch):

    def call(*arguments):
        monkeypatch.setattr(sys, 'argv', ['mmseg-spwc', *arguments])
        main()

    return call


@pytest.mark.parametrize('arguments', [(), ('--help', )])
def test_help_names_every_tool(run, capsys, arguments):
    run(*arguments)
    shown = capsys.readouterr().out
    assert all(name in shown for name in TOOLS)


def test_unknown_command(run):
    with pytest.raises(SystemExit, match="no command 'trane': choose one"):
        run('trane')


@pytest.mark.parametrize('name', TOOLS)
def test_tool_gets_the_other_arguments(run, monkeypatch, name):
    called = []
    monkeypatch.setattr(
        runpy, 'run_path', lambda path, run_name: called.append(
            (path, run_name, sys.argv)))
    run(name, 'config.py', '--resume')
    assert called == [(str(MIM / 'tools' / TOOLS[name]), '__main__',
                       [f'mmseg-spwc {name}', 'config.py', '--resume'])]
    assert (MIM / 'tools' / TOOLS[name]).is_file()
