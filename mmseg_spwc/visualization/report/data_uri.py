"""Images as text inside the page."""
import base64
import io

import numpy as np
from PIL import Image

LONGEST = 256


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
