"""Texts in the cells can be read on every colour (WCAG 2, level AA)."""
import matplotlib
import pytest

from mmseg_spwc.visualization.report.chart import heat_map, readable


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
    drawn = heat_map(['a', 'b'], [0, 1], [[0., 60.], [None, 30.]],
                     [['', ''], ['', '']], 60., 'lost',
                     [['0', '60'], ['', '30']])
    colours, texts = drawn.data
    assert (colours.zmin, colours.zmax) == (0, 60)
    assert list(zip(texts.x, texts.y, texts.text, strict=True)) == [
        ('0', 'a', '0'), ('1', 'a', '60'), ('1', 'b', '30')]
    assert texts.textfont.color[:2] == ('#ffffff', '#000000')
