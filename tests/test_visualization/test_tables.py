"""The final table in its forms, and the three main numbers."""
import re

import numpy as np
import pytest
from made_records import classification, segmentation, write

from mmseg_spwc.visualization.runs import compare, load_runs
from mmseg_spwc.visualization.scores import Spread, forgetting
from mmseg_spwc.visualization.tables import (
    Column,
    Table,
    final_table,
    headlines,
    to_latex,
    to_markdown,
    to_text,
)


@pytest.fixture
def table():
    rows = [[Spread(.5, None), Spread(.2, .01)],
            [Spread(.7, None), Spread(.1, .02)]]
    return Table('Method', [Column('a'), Column('lost', better=-1)],
                 ['x_1', '<b>|&'], rows)


def test_best_follows_the_direction_of_a_column(table):
    assert table.best == [[False, False], [True, True]]


def test_no_rival_no_best():
    rows = [[Spread(.5, None)], [Spread(None, None)]]
    assert Table('', [Column('a')], ['x', 'y'], rows).best == [
        [False], [False]]
    equal = [[Spread(.5001, None)], [Spread(.5002, None)]]
    assert Table('', [Column('a')], ['x', 'y'], equal).best == [
        [False], [False]]


def test_a_run_that_is_not_done_is_no_rival():
    rows = [[Spread(.9, None)], [Spread(.5, None)], [Spread(.4, None)]]
    table = Table('', [Column('a')], ['x', 'y', 'z'], rows,
                  partial=[True, False, False])
    assert table.best == [[False], [True], [False]]


def test_text(table):
    lines = to_text(table).splitlines()
    assert lines[0].split() == ['Method', 'a', 'lost']
    assert lines[2].split() == ['x_1', '50.0', '20.0±1.0']
    assert len({len(line) for line in lines}) == 1


def test_markdown_escapes_and_marks(table):
    lines = to_markdown(table).splitlines()
    assert lines[3] == r'| \<b\>\|& | **70.0** | **10.0±2.0** |'
    assert lines[2] == r'| x\_1 | 50.0 | 20.0±1.0 |'


def test_latex_escapes_and_marks(table):
    text = to_latex(table)
    assert r'x\_1 & 50.0 & 20.0$\pm$1.0 \\' in text
    assert r'<b>|\& & \textbf{70.0} & \textbf{10.0$\pm$2.0} \\' in text
    assert text.startswith('\\begin{tabular}{lrr}\n\\toprule')


def test_seeds_become_mean_and_deviation():
    records = [segmentation(seed=s) for s in range(3)]
    values = [100 * r.steps[-1]['iou'][1] for r in records]
    row = final_table(records).splitlines()[2].split()
    found = re.fullmatch(r'([\d.]+)±([\d.]+)', row[2])
    assert float(found[1]) == pytest.approx(np.mean(values), abs=.05)
    assert float(found[2]) == pytest.approx(np.std(values, ddof=1), abs=.05)


def test_a_run_that_stopped_says_so():
    text = final_table([segmentation(), segmentation(
        'MiB', steps=2, planned=3, finished=False)])
    assert 'MiB (step 1)' in text


def test_classification_has_the_papers_numbers():
    record = classification()
    header, _, row = final_table([record]).splitlines()[:3]
    assert header.split()[:5] == ['Step', '0', '1', '2', '3']
    cells = dict(zip(*(re.split(r'\s{2,}', line) for line in (header, row)),
                     strict=True))
    assert cells['PS'] == '0.46'
    expected = 100 * record.content['summary']['average_apa']
    assert float(cells['Avg-APA']) == pytest.approx(expected, abs=.05)


def test_no_step_yet():
    assert final_table([segmentation(steps=0)]) == 'No step is finished yet.'


def test_two_scenarios_are_two_tables():
    text = final_table([segmentation(), classification()])
    assert text.startswith('Class ') and '\nStep ' in text


def test_best_of_the_finished_methods(tmp_path):
    a, b = segmentation('A', steps=3), segmentation('B', steps=3)
    short = segmentation('C', steps=1, planned=3, finished=False)
    short.steps[0]['miou']['all'] = 1.  # no rival: it has not forgotten yet
    runs, _ = load_runs([write(r, tmp_path / r.content['method'])
                         for r in (a, b, short)])
    found = headlines(compare(runs)[0])
    best = max((a, b), key=lambda r: r.steps[-1]['miou']['all'])
    assert found[0].label == best.content['method']
    assert found[0].value == f'{100 * best.steps[-1]["miou"]["all"]:.1f} %'
    least = min((a, b), key=forgetting)
    assert found[2].label == least.content['method']
    assert [line.title for line in found] == [
        'highest mIoU after the last step',
        'highest mIoU on average over steps', 'least forgetting']


def test_nothing_finished_no_numbers(tmp_path):
    runs, _ = load_runs([write(segmentation(steps=0), tmp_path)])
    assert headlines(compare(runs)[0]) == []


def test_columns_are_classes_by_name_in_the_order_of_learning():
    record = segmentation(names=['background', 'boat', 'car', 'cat', 'dog'])
    for entry in record.steps:
        entry['class_ids'] = [0, 9, 4, 2, 7][:len(entry['classes'])]
    for form in ('text', 'markdown', 'latex'):
        header = re.search('^.*boat.*$', final_table([record], form), re.M)
        assert re.findall(r'[a-z]+', header[0].partition('base')[0])[-5:] == [
            'background', 'boat', 'car', 'cat', 'dog']
        assert not re.search(r'\d', header[0])
