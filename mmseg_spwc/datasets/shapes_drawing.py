"""Draws one image of textured shapes on clutter, and its label map.

Every class has an outline, a usual texture and a usual hue. The outline is
always kept; the texture is sometimes and the hue often another class's, and
the clutter has the same colours. So neither a pixel's colour nor a texture
alone tells the class, while shape and texture together do.

Nothing here touches a disk; all randomness comes from the given generator.
"""
import math
from collections.abc import Callable
from colorsys import hsv_to_rgb
from functools import partial

import cv2
import numpy as np

from mmseg_spwc.labels import VOID

from .shapes_outlines import CLASSES, place_outline

# the first class is drawn 1.5 times as often as the last one
FREQUENCIES = np.linspace(1.2, 0.8, len(CLASSES)) / len(CLASSES)
TEXTURE_FIDELITY = 0.85  # how often an object wears its class's texture
HUE_SPREAD = 22.0  # degrees; neighbouring classes are 36 degrees apart
MAX_OBJECTS = 4
_SUBPIXEL_BITS = 4


def _stripes(u: np.ndarray, v: np.ndarray, rng) -> np.ndarray:
    return np.sin(u) > 0


def _checker(u: np.ndarray, v: np.ndarray, rng) -> np.ndarray:
    return np.sin(u) * np.sin(v) > 0


def _dots(u: np.ndarray, v: np.ndarray, rng) -> np.ndarray:
    return np.cos(u) + np.cos(v) > 0.7


def _speckle(u: np.ndarray, v: np.ndarray, rng) -> np.ndarray:
    return rng.random(u.shape, dtype=np.float32)


def _gradient(u: np.ndarray, v: np.ndarray, rng) -> np.ndarray:
    low, high = u.min(), u.max()
    return (u - low) / max(high - low, 1e-6)


TEXTURES = (_stripes, _checker, _dots, _speckle, _gradient)

# usual texture and hue in degrees; classes alike in outline differ in both
LOOKS = {
    'disc': (_stripes, 0.),
    'square': (_dots, 252.),
    'triangle': (_speckle, 144.),
    'star': (_gradient, 36.),
    'ring': (_checker, 288.),
    'cross': (_speckle, 180.),
    'crescent': (_dots, 72.),
    'hexagon': (_gradient, 324.),
    'arrow': (_checker, 216.),
    'heart': (_stripes, 108.),
}


def _random_colour(rng, hue: float | None = None) -> np.ndarray:
    """RGB in [0, 255] of any hue, or of one near the given (degrees)."""
    hue = rng.uniform(0, 360) if hue is None else rng.normal(hue, HUE_SPREAD)
    saturation, value = rng.uniform(0.35, 0.9), rng.uniform(0.35, 0.95)
    return 255 * np.array(hsv_to_rgb(hue / 360 % 1, saturation, value))


def draw_background(size: int, rng: np.random.Generator) -> np.ndarray:
    """Draw clutter: a gradient, soft blobs and lines, slightly blurred.

    Args:
        size (int): Height and width in pixels.
        rng (np.random.Generator): The only source of randomness.

    Returns:
        np.ndarray: RGB in [0, 255], float32, of shape (size, size, 3).
    """
    corners = np.stack([_random_colour(rng) for _ in range(4)])
    canvas = cv2.resize(
        corners.reshape(2, 2, 3).astype(np.float32), (size, size),
        interpolation=cv2.INTER_LINEAR)
    for _ in range(rng.integers(3, 8)):
        centre = tuple(int(c) for c in rng.integers(0, size, 2))
        axes = tuple(int(a) for a in rng.integers(2, max(3, size // 6), 2))
        cv2.ellipse(canvas, centre, axes, rng.uniform(0, 180), 0, 360,
                    _random_colour(rng).tolist(), -1)
    for _ in range(rng.integers(2, 6)):
        ends = rng.integers(0, size, (2, 2))
        cv2.line(canvas, ends[0].tolist(), ends[1].tolist(),
                 _random_colour(rng).tolist(),
                 int(rng.integers(1, max(2, size // 24) + 1)))
    return cv2.GaussianBlur(canvas, (0, 0), size / 96)


def texture_colours(y: np.ndarray, x: np.ndarray, name: str, angle: float,
                    scale: float, rng: np.random.Generator) -> np.ndarray:
    """Colour some pixels as an object of one class is coloured.

    Args:
        y (np.ndarray): Rows of the pixels, of shape (N, ).
        x (np.ndarray): Columns of the pixels, of shape (N, ).
        name (str): A name of :data:`CLASSES`.
        angle (float): Direction of the pattern in radians.
        scale (float): Factor on the pattern's period of 6 to 9 pixels.
        rng (np.random.Generator): The only source of randomness.

    Returns:
        np.ndarray: RGB in [0, 255] of shape (N, 3).
    """
    texture, hue = LOOKS[name]
    if rng.random() > TEXTURE_FIDELITY:
        texture = TEXTURES[rng.integers(len(TEXTURES))]
    step = 2 * np.pi / (rng.uniform(6., 9.) * scale)
    phase = rng.uniform(0, 2 * np.pi, 2)
    cos, sin = step * math.cos(angle), step * math.sin(angle)
    mix = texture(x * cos + y * sin + phase[0], y * cos - x * sin + phase[1],
                  rng)
    first = _random_colour(rng, hue)
    second = first * rng.uniform(0.3, 0.5)
    return first + (second - first) * mix[:, None]


def paint(image: np.ndarray, label: np.ndarray, outlines: list[np.ndarray],
          colour_at: Callable, value: int) -> None:
    """Paint an area into image and label map, in place.

    The image is blended along the smooth edge. In the label map an object
    gets a line of :data:`~mmseg_spwc.labels.VOID` around it, one pixel wide,
    as in PASCAL VOC.

    Args:
        image (np.ndarray): RGB, float32, of shape (H, W, 3).
        label (np.ndarray): Class ids, uint8, of shape (H, W).
        outlines (list[np.ndarray]): Closed outlines in pixels.
        colour_at (Callable): From rows and columns of N pixels to their
            colours, of shape (N, 3) or (3, ).
        value (int): Class id of the area; 0 for background.
    """
    points = [np.rint(outline * 2**_SUBPIXEL_BITS).astype(np.int32)
              for outline in outlines]
    cover = np.zeros(label.shape, np.uint8)
    cv2.fillPoly(cover, points, 255, cv2.LINE_AA, _SUBPIXEL_BITS)
    label[cover > 127] = value
    if value:
        cv2.polylines(label, points, True, VOID, 1, cv2.LINE_8,
                      _SUBPIXEL_BITS)
    touched = cover.nonzero()
    if len(touched[0]):
        old, alpha = image[touched], cover[touched][:, None] / 255
        image[touched] = old + (colour_at(*touched) - old) * alpha


def _far_centre(taken: list, size: int, rng) -> np.ndarray:
    """The one of a few random places that is farthest from the others'."""
    places = rng.uniform(0.15 * size, 0.85 * size, (4, 2))
    if not taken:
        return places[0]
    gaps = np.linalg.norm(places[:, None] - np.array(taken), axis=2)
    return places[gaps.min(axis=1).argmax()]


def _paint_bar(image: np.ndarray, label: np.ndarray, rng) -> None:
    """Hide part of what is there behind a thin plain bar of background."""
    size = len(label)
    middle = rng.uniform(0.2 * size, 0.8 * size, 2)
    angle = rng.uniform(0, np.pi)
    along = np.array([math.cos(angle), math.sin(angle)])
    across = along[::-1] * (-1, 1) * rng.uniform(1.5, 3.) * size / 96
    along *= rng.uniform(0.2, 0.6) * size
    bar = np.stack([along + across, along - across, -along - across,
                    across - along]) + middle
    colour = _random_colour(rng)
    paint(image, label, [bar], lambda y, x: colour, 0)


def draw_sample(size: int,
                rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw an image with one to four objects, and its label map.

    Args:
        size (int): Height and width in pixels.
        rng (np.random.Generator): The only source of randomness.

    Returns:
        tuple[np.ndarray, np.ndarray]: RGB image of shape (size, size, 3) and
        label map of shape (size, size), both uint8. Label 0 is background,
        ``1 + i`` is ``CLASSES[i]``, 255 the line around each object.
    """
    image = draw_background(size, rng)
    label = np.zeros((size, size), np.uint8)
    taken = []
    for _ in range(rng.integers(1, MAX_OBJECTS + 1)):
        index = rng.choice(len(CLASSES), p=FREQUENCIES)
        angle = rng.uniform(0, 2 * np.pi)
        taken.append(_far_centre(taken, size, rng))
        outlines = place_outline(CLASSES[index], taken[-1],
                                 rng.uniform(0.13, 0.25) * size, angle,
                                 rng.uniform(0.85, 1.18))
        colour_at = partial(
            texture_colours,
            name=CLASSES[index],
            angle=angle,
            scale=size / 96,
            rng=rng)
        paint(image, label, outlines, colour_at, index + 1)
    if rng.random() < 0.3:
        _paint_bar(image, label, rng)
    image *= rng.uniform(0.8, 1.1)
    image += 6 * rng.standard_normal(image.shape, dtype=np.float32)
    return np.clip(image, 0, 255).astype(np.uint8), label
