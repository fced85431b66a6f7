"""tools/report.py and tools/analysis_tools/plot.py as they are called."""
import runpy
import sys
from pathlib import Path

import pytest
from made_records import classification, segmentation, write

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def tool(monkeypatch, capsys):
    """Call a tool in this process; return its exit code and its words."""

    def call(path, *arguments):
        monkeypatch.setattr(sys, 'argv', [path, *map(str, arguments)])
        try:
            code = runpy.run_path(str(ROOT / path))['main']()
        except SystemExit as stopped:
            code = stopped.code
        return code, capsys.readouterr()

    return call


def test_bad_records_are_left_out(tool, tmp_path):
    write(segmentation(), tmp_path / 'good')
    (tmp_path / 'bad').mkdir()
    (tmp_path / 'bad/record.json').write_text('{')
    page = tmp_path / 'new/report.html'
    code, said = tool('tools/report.py', tmp_path / 'good', tmp_path / 'bad',
                      '-o', page)
    assert code == 0 and 'left out' in said.err
    assert 'is not JSON' in page.read_text()
    # the made config has no network: the page says why images are absent
    assert 'RCIL: no images (' in page.read_text()


def test_no_readable_record_is_an_error(tool, tmp_path):
    code, said = tool('tools/report.py', tmp_path / 'none', '-o',
                      tmp_path / 'r.html')
    assert code == 2 and 'There is no record' in said.err
    assert not (tmp_path / 'r.html').exists()


def test_figures_are_of_one_scenario(tool, tmp_path):
    folders = [write(segmentation(), tmp_path / 'a'),
               write(classification(), tmp_path / 'b')]
    code, said = tool('tools/analysis_tools/plot.py', 'apa_acf', *folders)
    assert code == 2 and 'several scenarios' in said.err
    code, said = tool('tools/analysis_tools/plot.py', 'apa_acf', folders[1],
                      '-o', tmp_path / 'x')
    assert code == 0
    assert said.out.split() == [f'{tmp_path}/x.png', f'{tmp_path}/x.pdf']


def test_every_figure_has_a_command():
    from mmseg_spwc.visualization.figures import FIGURES
    names = runpy.run_path(
        str(ROOT / 'tools/analysis_tools/plot.py'))['NAMES']
    assert sorted(names) == sorted(FIGURES)


def test_compare_prints_latex(tool, tmp_path):
    folder = write(segmentation(), tmp_path / 'a')
    code, said = tool('tools/analysis_tools/compare.py', folder, '--format',
                      'latex')
    assert code == 0 and said.out.startswith(r'\begin{tabular}')
