"""The shapes dataset: generated, in PASCAL VOC's layout, learnt in minutes.

Every class has an outline, a usual texture and a usual hue. The outline is
always kept; the texture is sometimes and the hue often another class's, and
the clutter has the same colours. So neither a pixel's colour nor a texture
alone tells the class, while shape and texture together do.
"""
import hashlib
import json
import math
import tempfile
from collections.abc import Callable
from colorsys import hsv_to_rgb
from functools import partial
from pathlib import Path

import cv2
import numpy as np
from mmseg.datasets import BaseSegDataset
from PIL import Image

from mmseg_spwc.labels import VOID
from mmseg_spwc.registry import DATASETS
from mmseg_spwc.utils.distributed import from_first_rank

VERSION = 1  # raise it whenever the same seed draws something else
RECORD = 'shapes.json'
SPLITS = ('train', 'val')
MIN_SIZE = 32  # below it textures and border lines eat the objects
TEXTURE_FIDELITY = 0.85  # how often an object wears its class's texture
HUE_SPREAD = 22.0  # degrees; neighbouring classes are 36 degrees apart
MAX_OBJECTS = 4
# usual texture and hue in degrees; classes alike in outline differ in both
LOOKS = {
    'disc': ('stripes', 0.),
    'square': ('dots', 252.),
    'triangle': ('speckle', 144.),
    'star': ('gradient', 36.),
    'ring': ('checker', 288.),
    'cross': ('speckle', 180.),
    'crescent': ('dots', 72.),
    'hexagon': ('gradient', 324.),
    'arrow': ('checker', 216.),
    'heart': ('stripes', 108.),
}
CLASSES = tuple(LOOKS)
# the first class is drawn 1.5 times as often as the last one
FREQUENCIES = np.linspace(1.2, 0.8, len(CLASSES)) / len(CLASSES)
PALETTE = [[0, 0, 0], [200, 48, 48], [112, 88, 224], [56, 168, 96],
           [232, 144, 48], [176, 64, 200], [64, 184, 184], [208, 200, 64],
           [216, 72, 144], [56, 120, 208], [144, 208, 72]]
_SUBPIXEL_BITS = 4


@DATASETS.register_module()
class ShapesDataset(BaseSegDataset):
    """Textured shapes on clutter: background and ten classes.

    Args:
        generate (dict, optional): ``num_train`` and ``num_val`` images of
            ``size`` pixels by ``seed`` are written to ``data_root`` if they
            are missing, by the main process; every process waits for it, so
            every process must build the dataset. Defaults to None: the data
            must be there.
        **kwargs: Arguments of ``BaseSegDataset``. Prefixes and suffixes
            default to the generated layout.
    """
    METAINFO = dict(classes=('background', *CLASSES), palette=PALETTE)

    def __init__(self, generate: dict | None = None, **kwargs) -> None:
        if generate is not None:
            if not kwargs.get('data_root'):
                raise ValueError('`generate` needs `data_root`, the folder to '
                                 'write the shapes dataset into.')
            from_first_rank(generate_shapes, kwargs['data_root'], **generate)
        layout = dict(
            img_suffix='.jpg', seg_map_suffix='.png', reduce_zero_label=False,
            data_prefix=dict(
                img_path='JPEGImages', seg_map_path='SegmentationClass'))
        super().__init__(**layout | kwargs)

    def load_data_list(self) -> list[dict]:
        if self.ann_file and not Path(self.ann_file).is_file():
            raise FileNotFoundError(
                f'{self.ann_file} does not exist; set `generate=dict()` to '
                'have the shapes dataset written to `data_root`.')
        return super().load_data_list()


def generate_shapes(root: str | Path, num_train: int = 1200,
                    num_val: int = 300, size: int = 96,
                    seed: int = 0) -> Path:
    """Write the shapes dataset, or find it already written.

    The folder appears complete or not at all: it is built beside ``root`` and
    renamed. ``root/shapes.json`` keeps the parameters and a digest of every
    file. Each image depends on ``seed``, its split and its number only.
    """
    parameters = dict(
        num_train=num_train, num_val=num_val, size=size, seed=seed)
    lowest = dict(num_train=1, num_val=1, size=MIN_SIZE, seed=0)
    for name, value in parameters.items():
        if not isinstance(value, int) or value < lowest[name]:
            raise ValueError(f'{name} must be an integer of at least '
                             f'{lowest[name]}, but got {value!r}.')
    root = Path(root).absolute()
    if _is_finished(root, parameters):
        return root
    root.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(
            dir=root.parent, prefix=f'.{root.name}-') as scratch:
        built = Path(scratch) / root.name
        _write_dataset(built, dict(train=num_train, val=num_val), size, seed)
        record = dict(
            version=VERSION, parameters=parameters, sha256=digest(built))
        (built / RECORD).write_text(json.dumps(record, indent=2) + '\n')
        try:
            built.rename(root)
        except OSError:  # another process finished first
            if not _is_finished(root, parameters):
                raise
    return root


def digest(root: str | Path) -> str:
    """SHA-256 (hex) over the names and bytes of all files but the record."""
    root = Path(root)
    total = hashlib.sha256()
    for path in sorted(root.glob('*/**/*')):
        if path.is_file():
            content = hashlib.sha256(path.read_bytes()).hexdigest()
            total.update(f'{path.relative_to(root).as_posix()} {content}\n'
                         .encode())
    return total.hexdigest()


def _is_finished(root: Path, parameters: dict) -> bool:
    """Whether ``root`` holds just this dataset; raises if something else."""
    if not root.exists() or (root.is_dir() and not any(root.iterdir())):
        return False
    if not (root / RECORD).is_file():
        raise FileExistsError(
            f'{root} exists but is not a generated shapes dataset (no '
            f'{RECORD} in it); choose another folder or remove it.')
    found = json.loads((root / RECORD).read_text())
    wanted = dict(version=VERSION, parameters=parameters)
    present = {key: found[key] for key in wanted}
    if present != wanted:
        raise FileExistsError(
            f'{root} holds a shapes dataset made with {present}, but {wanted} '
            'is wanted; choose another folder or remove it.')
    return True


def _write_dataset(root: Path, counts: dict, size: int, seed: int) -> None:
    lists = root / 'ImageSets' / 'Segmentation'
    for folder in (root / 'JPEGImages', root / 'SegmentationClass', lists):
        folder.mkdir(parents=True)
    for split, count in counts.items():
        names = [_write_sample(root, size, seed, split, index)
                 for index in range(count)]
        (lists / f'{split}.txt').write_text('\n'.join(names) + '\n')


def _write_sample(root: Path, size: int, seed: int, split: str,
                  index: int) -> str:
    rng = np.random.default_rng([seed, SPLITS.index(split), index])
    image, label = draw_sample(size, rng)
    name = f'{split}_{index:06d}'
    Image.fromarray(image).save(root / f'JPEGImages/{name}.jpg', quality=95)
    mask = Image.fromarray(label)
    mask.putpalette(_png_palette())
    mask.save(root / f'SegmentationClass/{name}.png')
    return name


def _png_palette() -> list[int]:
    """The classes' colours, black, and off-white for the ignored border."""
    colours = np.zeros((256, 3), np.uint8)
    colours[:len(PALETTE)] = PALETTE
    colours[VOID] = (224, 224, 192)
    return colours.ravel().tolist()


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
# grey values from coordinates that are turned and scaled
TEXTURES = dict(
    stripes=lambda u, v, rng: np.sin(u) > 0,
    checker=lambda u, v, rng: np.sin(u) * np.sin(v) > 0,
    dots=lambda u, v, rng: np.cos(u) + np.cos(v) > 0.7,
    speckle=lambda u, v, rng: rng.random(u.shape, dtype=np.float32),
    gradient=lambda u, v, rng: (u - u.min()) / max(np.ptp(u), 1e-6))


def place_outline(name: str, centre: np.ndarray, radius: float, angle: float,
                  stretch: float = 1.) -> list[np.ndarray]:
    """Move a class's outline to its place (x, y) in the image, turned by an
    angle; ``stretch`` multiplies its width and divides its height."""
    cos, sin = math.cos(angle), math.sin(angle)
    turn = np.array([[cos, sin], [-sin, cos]])  # for row vectors
    scale = radius * np.array([stretch, 1 / stretch])
    return [outline * scale @ turn + centre for outline in OUTLINES[name]]


def _random_colour(rng, hue: float | None = None) -> np.ndarray:
    """RGB in [0, 255] of any hue, or of one near the given (degrees)."""
    hue = rng.uniform(0, 360) if hue is None else rng.normal(hue, HUE_SPREAD)
    saturation, value = rng.uniform(0.35, 0.9), rng.uniform(0.35, 0.95)
    return 255 * np.array(hsv_to_rgb(hue / 360 % 1, saturation, value))


def draw_background(size: int, rng: np.random.Generator) -> np.ndarray:
    """Draw clutter: a gradient, soft blobs and lines, slightly blurred."""
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
    """Colours (N, 3) of pixels of a class; periods are 6 to 9 px * scale."""
    texture, hue = LOOKS[name]
    if rng.random() > TEXTURE_FIDELITY:
        texture = list(TEXTURES)[rng.integers(len(TEXTURES))]
    step = 2 * np.pi / (rng.uniform(6., 9.) * scale)
    phase = rng.uniform(0, 2 * np.pi, 2)
    cos, sin = step * math.cos(angle), step * math.sin(angle)
    mix = TEXTURES[texture](x * cos + y * sin + phase[0],
                            y * cos - x * sin + phase[1], rng)
    first = _random_colour(rng, hue)
    second = first * rng.uniform(0.3, 0.5)
    return first + (second - first) * mix[:, None]


def paint(image: np.ndarray, label: np.ndarray, outlines: list[np.ndarray],
          colour_at: Callable, value: int) -> None:
    """Paint an area into image and label map, in place.

    In the label map an object (``value`` above 0) gets a line of void around
    it, one pixel wide, as in PASCAL VOC.
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
    """Draw an RGB image with one to four objects, and its label map, in which
    ``1 + i`` is ``CLASSES[i]``."""
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
        colour_at = partial(texture_colours, name=CLASSES[index],
                            angle=angle, scale=size / 96, rng=rng)
        paint(image, label, outlines, colour_at, index + 1)
    if rng.random() < 0.3:
        _paint_bar(image, label, rng)
    image *= rng.uniform(0.8, 1.1)
    image += 6 * rng.standard_normal(image.shape, dtype=np.float32)
    return np.clip(image, 0, 255).astype(np.uint8), label
