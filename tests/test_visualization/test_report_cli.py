"""tools/report.py and tools/analysis_tools/plot.py as they are called."""
import runpy
import sys
from pathlib import Path

import pytest
from made_records import classification, segmentation, write

from mmseg_spwc.sweep.aggregate import (
    aggregate,
    final_scores,
    write_aggregate,
)

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


def test_a_sweep_stands_for_its_best_runs(tool, tmp_path):
    runs = []
    for method, setting, seed, score in (
            ('EWC', 1, 0, .5), ('EWC', 2, 0, .7), ('MAS', 1, 0, .6)):
        name = f'{method}{setting}'
        write(classification(method, seed), tmp_path / 'trials' / name)
        runs.append(dict(
            name=name, group=name, method=method, scenario='',
            setting={'hook.<k>': setting}, seed=seed,
            folder=f'trials/{name}', finished=True, held_out=score,
            test=score / 10, wall_time=1., attempts=1, reason=''))
    write_aggregate(aggregate('<mine>', 'held-out accuracy', runs, dict(
        title='A <title>', scores=dict(EWC=dict(average_apa=51.3)))), tmp_path)
    page = tmp_path / 'report.html'
    code, said = tool('tools/report.py', tmp_path, '-o', page)
    assert code == 0, said.err
    text = page.read_text()
    assert 'Sweep &lt;mine&gt;' in text and '<mine>' not in text
    assert 'hook.&lt;k&gt;=2' in text
    assert text.count('class="best"') == 2
    assert 'A &lt;title&gt;. ' in text and 'EWC, published' in text
    assert '>51.3<' in text
    assert '>7.0<' in text and '>5.0<' not in text  # test of the best alone
    assert f'{tmp_path}/trials/EWC2' in text
    assert f'{tmp_path}/trials/EWC1' not in text


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


def test_compare_prints_latex(tool, tmp_path):
    folder = write(segmentation(), tmp_path / 'a')
    code, said = tool('tools/analysis_tools/compare.py', folder, '--format',
                      'latex')
    assert code == 0 and said.out.startswith(r'\begin{tabular}')

def test_every_score_of_a_record_has_the_name_that_papers_give():
    found = final_scores(segmentation())
    assert found['all'] == segmentation().content['summary']['all']
    entry = segmentation().steps[-1]
    assert found[f'class_{entry["class_ids"][1]}'] == entry['iou'][1]
