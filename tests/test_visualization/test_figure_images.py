"""Predictions over their image."""
import numpy as np

from mmseg_spwc.visualization.figures import images
from mmseg_spwc.visualization.gallery import Gallery, Picture


def test_background_stays_clear_and_classes_are_tinted():
    image = np.full((2, 2, 3), 100, np.uint8)
    labels = np.array([[0, 1], [0, 0]])
    figure = images.segmentation(image, labels, ['background', 'disc'],
                                  [[0, 0, 0], [200, 0, 0]], opacity=.5)
    shown = figure.axes[0].images[0].get_array()
    assert shown[0, 0].tolist() == [100, 100, 100]
    assert shown[0, 1].tolist() == [150, 50, 50]
    names = [t.get_text() for t in figure.legends[0].get_texts()]
    assert names == ['background 75 %', 'disc 25 %']


def test_bars_of_a_classifier():
    figure = images.classification(
        np.zeros((2, 2, 3), np.uint8), [('cat', .75), ('dog', .25)])
    assert [bar.get_width() for bar in figure.axes[1].patches] == [75, 25]


def test_the_legend_has_what_is_shown():
    labels = np.array([[2, 255]])
    picture = Picture('a', np.zeros((1, 2, 3)), labels,
                      {'g0': np.array([[0, 2]])})
    gallery = Gallery(['a', 'b', 'c'], [[0] * 3] * 3, [picture])
    assert gallery.shown() == [0, 2]
