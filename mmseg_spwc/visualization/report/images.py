"""Test images and what every method makes of them, as text in the page."""
import base64
import io

import numpy as np
from PIL import Image

from ..gallery import Gallery
from ..palette import hexadecimal
from ..runs import Comparison

LONGEST = 256


def rows(gallery: Gallery, comparison: Comparison) -> list[list[dict]]:
    """Return the images to show: one row for each test image.

    Every cell has ``source`` (a data URI), ``title`` and the ``group`` it
    belongs to, None for the image and the ground truth.
    """
    return [[
        dict(source=photo(p.image), title='image', group=None),
        dict(source=label_map(gallery.colour(p.truth)),
             title='ground truth', group=None),
        *(dict(source=label_map(gallery.colour(p.predictions[g.key])),
               title=g.label, group=g.key)
          for g in comparison.groups if g.key in p.predictions)
    ] for p in gallery.pictures]


def legend(gallery: Gallery) -> list[dict]:
    """Return name and colour of every class that can be seen."""
    return [
        dict(name=gallery.classes[c], colour=hexadecimal(gallery.palette[c]))
        for c in gallery.shown()
    ]


def photo(image: np.ndarray) -> str:
    """A photograph, (H, W, 3) uint8, as a JPEG of at most 256 pixels."""
    return _encode(_smaller(image, Image.Resampling.LANCZOS), 'JPEG')


def label_map(colours: np.ndarray) -> str:
    """A painted label map, (H, W, 3) uint8, as a PNG with sharp edges."""
    small = _smaller(colours, Image.Resampling.NEAREST)
    return _encode(small.quantize(256, dither=Image.Dither.NONE), 'PNG')


def _smaller(image: np.ndarray, resample: Image.Resampling) -> Image.Image:
    drawn = Image.fromarray(image)
    scale = LONGEST / max(drawn.size)
    if scale < 1:
        size = [max(1, round(scale * side)) for side in drawn.size]
        drawn = drawn.resize(size, resample)
    return drawn


def _encode(image: Image.Image, form: str) -> str:
    buffer = io.BytesIO()
    image.save(buffer, form, optimize=True)
    text = base64.b64encode(buffer.getvalue()).decode()
    return f'data:image/{form.lower()};base64,{text}'
