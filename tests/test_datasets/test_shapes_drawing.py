import colorsys
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mmseg_spwc  # noqa: F401  makes mmseg importable
from mmseg_spwc.datasets import shapes
from mmseg_spwc.datasets.shapes import (
    CLASSES,
    OUTLINES,
    draw_sample,
    paint,
    place_outline,
)


def _inside(outlines, x, y):
    """Even-odd rule: count the edges that a ray to the right crosses."""
    crossings = 0
    for outline in outlines:
        for (x0, y0), (x1, y1) in zip(
                outline, np.roll(outline, -1, axis=0), strict=True):
            if (y0 > y) != (y1 > y):
                crossings += x < x0 + (y - y0) * (x1 - x0) / (y1 - y0)
    return crossings % 2 == 1


def _distance(outlines, x, y):
    """Distance from a point to the nearest edge."""
    p = np.concatenate(outlines)
    edge = np.concatenate([np.roll(o, -1, axis=0) for o in outlines]) - p
    point = np.array([x, y]) - p
    length = np.maximum((edge**2).sum(axis=1), 1e-12)
    along = np.clip((point * edge).sum(axis=1) / length, 0, 1)
    return np.linalg.norm(point - along[:, None] * edge, axis=1).min()


@pytest.mark.parametrize('name', CLASSES)
def test_label_is_the_area_inside_the_outline(name):
    outlines = place_outline(name, np.array([20., 19.]), 13., 0.6, 1.1)
    image = np.zeros((40, 40, 3), np.float32)
    label = np.zeros((40, 40), np.uint8)
    paint(image, label, outlines, lambda y, x: np.full(3, 200.), 4)
    assert set(np.unique(label)) == {0, 4, 255}
    for y in range(0, 40, 2):
        for x in range(y % 4 // 2, 40, 2):
            distance = _distance(outlines, x, y)
            if distance > 2:
                inside = _inside(outlines, x, y)
                assert label[y, x] == (4 if inside else 0), (x, y)
                assert abs(image[y, x, 0] - 200 * inside) < 5, (x, y)
            assert distance < 1.5 or label[y, x] != 255, (x, y)


@pytest.mark.parametrize('name, area', [
    ('disc', np.pi * .9**2), ('square', 2 * 1.1**2),
    ('triangle', .75 * 3**.5 * 1.15**2), ('ring', np.pi * (1 - .5**2)),
    ('cross', 4 - 4 * .65**2), ('hexagon', 1.5 * 3**.5)])
def test_areas_are_those_of_the_textbook(name, area):
    image = np.zeros((200, 200, 3), np.float32)
    label = np.zeros((200, 200), np.uint8)
    outlines = place_outline(name, np.array([100., 100.]), 70., 0.)
    paint(image, label, outlines, lambda y, x: np.ones(3), 1)
    assert image[..., 0].sum() == pytest.approx(area * 70**2, rel=0.04)


@pytest.mark.parametrize('names, mirror', [
    ('disc square ring cross crescent hexagon arrow', (1, -1)),
    ('square triangle star cross hexagon heart', (-1, 1))])
def test_outlines_are_their_own_mirror_images(names, mirror):
    for name in names.split():
        points = np.concatenate(OUTLINES[name])
        apart = np.linalg.norm(
            points[:, None] - points[None] * mirror, axis=-1)
        assert apart.min(axis=1).max() < 1e-3, name


def test_a_quarter_turn_is_clockwise_on_the_screen():
    arrow, = place_outline('arrow', np.zeros(2), 1., np.pi / 2)
    tip = arrow[np.linalg.norm(arrow - (0, 1.1), axis=1).argmin()]
    assert tip == pytest.approx([0, 1.1])


def test_an_object_wears_the_look_of_its_label(monkeypatch):
    def plain(y, x, name, **kwargs):
        return np.array([10. + 20 * CLASSES.index(name), 200., 0.])

    monkeypatch.setattr(shapes, 'texture_colours', plain)
    for seed in range(10):
        image, label = draw_sample(96, np.random.default_rng(seed))
        for value in set(np.unique(label)) - {0, 255}:
            red, green, _ = np.median(image[label == value], axis=0)
            assert red / green == pytest.approx(
                (20 * value - 10) / 200, abs=0.04)


def test_background_is_painted_without_a_border():
    image = np.zeros((32, 32, 3), np.float32)
    label = np.full((32, 32), 3, np.uint8)
    paint(image, label, place_outline('disc', np.array([16., 16.]), 8., 0.),
          lambda y, x: np.ones(3), 0)
    assert set(np.unique(label)) == {0, 3}
    assert label[16, 16] == 0


def test_placing_an_outline_turns_stretches_and_moves_it():
    square = place_outline('square', np.array([5., 7.]), 2., np.pi / 2, 1.5)
    half = 1.1 * np.sqrt(.5) * 2.
    width, height = np.ptp(square[0], axis=0)
    assert width == pytest.approx(2 * half / 1.5)  # a quarter turn swaps them
    assert height == pytest.approx(2 * half * 1.5)
    assert square[0][:-1].mean(axis=0) == pytest.approx([5., 7.])


@pytest.mark.parametrize('name', CLASSES)
def test_an_object_has_its_class_hue_on_average(name):
    y, x = np.mgrid[:12, :12].reshape(2, -1)
    rng = np.random.default_rng(0)
    angles = []
    for _ in range(60):
        colours = shapes.texture_colours(y, x, name, 0.3, 1., rng)
        brightest = colours[colours.sum(axis=1).argmax()] / 255
        angles.append(2 * np.pi * colorsys.rgb_to_hsv(*brightest)[0])
    mean = np.degrees(np.angle(np.exp(1j * np.array(angles)).mean()))
    off = (mean - shapes.LOOKS[name][1] + 180) % 360 - 180
    assert abs(off) < 3 * 22 / np.sqrt(60)


@given(st.integers(0, 2**32), st.sampled_from([32, 64, 96]))
@settings(deadline=None, max_examples=25)
def test_a_sample_is_well_formed(seed, size):
    image, label = draw_sample(size, np.random.default_rng(seed))
    assert image.shape == (size, size, 3) and image.dtype == np.uint8
    assert label.shape == (size, size) and label.dtype == np.uint8
    found = set(np.unique(label)) - {0, 255}
    assert 1 <= len(found) <= 4 and max(found) <= len(CLASSES)
    assert image.std() > 5


def test_classes_are_frequent_in_a_slightly_skewed_way():
    pixels, images = Counter(), Counter()
    for index in range(300):
        _, label = draw_sample(48, np.random.default_rng(index))
        ids, counts = np.unique(label, return_counts=True)
        images.update(ids.tolist())
        pixels.update(dict(zip(ids.tolist(), counts.tolist(), strict=True)))
    assert sum(shapes.FREQUENCIES) == pytest.approx(1)
    shares = [images[1 + i] / 300 for i in range(len(CLASSES))]
    assert min(shares) > 0.1 and max(shares) < 0.45
    assert sum(shares[:5]) > sum(shares[5:])
    assert 0.6 < pixels[0] / (300 * 48 * 48) < 0.9


def test_outlines_fill_about_one_unit():
    for name, outlines in OUTLINES.items():
        extent = max(np.abs(outline).max() for outline in outlines)
        assert 0.7 < extent <= 1.25, name
