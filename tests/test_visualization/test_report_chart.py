"""Texts in the cells can be read on every colour (WCAG 2, level AA)."""
from pathlib import Path

import matplotlib
import pytest
from made_records import classification, segmentation, write

from mmseg_spwc.visualization.report.charts import (
    class_charts,
    forgetting_charts,
    heat_map,
    priority_charts,
    readable,
    scenario_charts,
)
from mmseg_spwc.visualization.runs import Run, compare, load_runs
from mmseg_spwc.visualization.series import MANY, Grid, thinned


def luminance(channels):
    total = 0.
    for weight, value in zip((.2126, .7152, .0722), channels, strict=True):
        linear = (value / 12.92 if value <= .04045 else
                  ((value + .055) / 1.055)**2.4)
        total += weight * linear
    return total


@pytest.mark.parametrize('percent', range(0, 101, 2))
def test_contrast_of_texts_is_enough(percent):
    cell = luminance(matplotlib.colormaps['cividis'](percent / 100)[:3])
    text = {'#000000': 0., '#ffffff': 1.}[readable(percent / 100)]
    light, dark = max(cell, text), min(cell, text)
    assert (light + .05) / (dark + .05) >= 4.5


def test_cells_without_a_value_have_no_text():
    grid = Grid('step', ['a', 'b'], [0, 1], [[0., 60.], [None, 30.]])
    drawn = heat_map(grid,
                     [['', ''], ['', '']], 60., 'lost',
                     [['0', '60'], ['', '30']])
    colours, texts = drawn.data
    assert (colours.zmin, colours.zmax) == (0, 60)
    assert list(zip(texts.x, texts.y, texts.text, strict=True)) == [
        ('0', 'a', '0'), ('1', 'a', '60'), ('1', 'b', '30')]
    assert texts.textfont.color[:2] == ('#ffffff', '#000000')


@pytest.mark.parametrize('count', [0, 1, 5, 6, 11, 1000])
def test_some_of_many_begin_and_end_with_the_first_and_last(count):
    found = thinned(range(count), 5)
    assert len(found) == min(count, 5) == len(set(found))
    assert found == sorted(found)
    assert found[:1] == list(range(count))[:1]
    assert found[-1:] == list(range(count))[-1:]
    gaps = {b - a for a, b in zip(found, found[1:], strict=False)}
    assert not gaps or max(gaps) - min(gaps) <= 1


def test_of_many_steps_some_are_drawn(tmp_path):
    record = classification('EWC', tasks=MANY + 20)
    run = load_runs([write(record, tmp_path)])[0]
    comparison, = compare(run)
    last = MANY + 19
    for charts in (class_charts, forgetting_charts, scenario_charts):
        chart, = charts(comparison)
        drawn = chart.figure.data[0]
        assert len(drawn.x) == len(drawn.y) == len(drawn.z) == MANY
        assert int(drawn.x[-1]) == last
        if charts is not scenario_charts:
            assert f'({MANY} of {last + 1} steps)' in chart.title
    accuracy = class_charts(comparison)[0].figure.data[0]
    assert accuracy.y[-1] == f'step {last}'
    assert accuracy.z[-1][-1] == pytest.approx(
        100 * record.steps[-1]['accuracy_by_step'][-1])


def test_rows_are_called_by_name():
    names = ['background', 'boat', 'car', 'car', 'dog']  # two of one name
    record = segmentation('RCIL+spWC', names=names)
    comparison, = compare([Run(record, Path('.'))])
    for charts in (class_charts, priority_charts, scenario_charts):
        rows = charts(comparison)[0].figure.data[0].y
        assert list(rows[:2]) == ['background', 'boat']
        assert len(set(rows)) == len(rows)
    assert list(forgetting_charts(comparison)[0].figure.data[0].y) == [
        'step 0', 'step 1', 'step 2']


def test_what_a_step_of_a_classification_taught_is_called_by_the_step():
    comparison, = compare([Run(classification(tasks=3), Path('.'))])
    for charts in (class_charts, forgetting_charts):
        rows = charts(comparison)[0].figure.data[0].y
        assert list(rows) == ['step 0', 'step 1', 'step 2']
    assert scenario_charts(comparison)[0].figure.data[0].y[0] == 'step 0: 0, 1'
