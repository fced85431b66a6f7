"""Outlines of the shapes dataset's classes: plain geometry, no pixels."""
import math

import numpy as np


def _circle(radius: float, start: float = 0., stop: float = 360.,
            points: int = 40) -> np.ndarray:
    angles = np.radians(np.linspace(start, stop, points))
    return radius * np.stack([np.cos(angles), np.sin(angles)], axis=1)


def _star(tips: int, inner: float) -> np.ndarray:
    radii = np.where(np.arange(2 * tips) % 2, inner, 1.)
    return _circle(1., -90., 270., 2 * tips + 1)[:-1] * radii[:, None]


def _heart() -> np.ndarray:
    t = np.linspace(0, 2 * np.pi, 40)
    x = 16 * np.sin(t)**3
    y = 13 * np.cos(t) - 5 * np.cos(2 * t) - 2 * np.cos(3 * t) - np.cos(4 * t)
    return np.stack([x, -y - 2], axis=1) / 16


# Closed outlines in a box of about [-1, 1]^2, image axes (y points down);
# two nested outlines leave a hole.
OUTLINES = {
    'disc': [_circle(0.9)],
    'square': [_circle(1.1, 45, 405, 5)],
    'triangle': [_circle(1.15, -90, 270, 4)],
    'star': [_star(5, 0.45) * 1.2],
    'ring': [_circle(1.), _circle(0.5)],
    'cross': [np.array([(-.35, -1), (.35, -1), (.35, -.35), (1, -.35),
                        (1, .35), (.35, .35), (.35, 1), (-.35, 1),
                        (-.35, .35), (-1, .35), (-1, -.35), (-.35, -.35)])],
    'crescent': [np.concatenate([_circle(1.05, 50, 310),
                                 _circle(.85, 290, 70) + (.38, 0)])],
    'hexagon': [_circle(1., 0, 360, 7)],
    'arrow': [np.array([(-1.1, -.35), (.1, -.35), (.1, -.9), (1.1, 0),
                        (.1, .9), (.1, .35), (-1.1, .35)])],
    'heart': [_heart()],
}
CLASSES = tuple(OUTLINES)


def place_outline(name: str, centre: np.ndarray, radius: float, angle: float,
                  stretch: float = 1.) -> list[np.ndarray]:
    """Move a class's outline to its place in the image.

    Args:
        name (str): A name of :data:`CLASSES`.
        centre (np.ndarray): Where the outline's origin goes, (x, y) in pixels.
        radius (float): Length of the outline's unit in pixels.
        angle (float): Rotation in radians.
        stretch (float): Width is multiplied and height divided by it.

    Returns:
        list[np.ndarray]: Closed outlines in pixels, each of shape (N, 2).
    """
    cos, sin = math.cos(angle), math.sin(angle)
    turn = np.array([[cos, sin], [-sin, cos]])  # for row vectors
    scale = radius * np.array([stretch, 1 / stretch])
    return [outline * scale @ turn + centre for outline in OUTLINES[name]]
