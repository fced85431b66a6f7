"""Images with their segmentations, ready to be shown."""
import base64
import io
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from PIL import Image

from mmseg_spwc.labels import VOID

from .palette import hexadecimal

VOID_COLOUR = (224, 224, 192)
LONGEST = 256  # pixels of a side on a page


@dataclass(frozen=True)
class Picture:
    """One test image."""
    name: str  # of its file
    image: np.ndarray  # (H, W, 3), uint8, RGB
    truth: np.ndarray  # (H, W), channels; 255 is ignored
    predictions: Mapping  # (H, W) by key of a group


@dataclass(frozen=True)
class Change:
    """A test image whose prediction a step has changed.

    The three are painted label maps (H, W, 3), or names of classes.
    """
    image: np.ndarray
    truth: np.ndarray | str
    before: np.ndarray | str
    after: np.ndarray | str


@dataclass(frozen=True)
class Gallery:
    """Test images of one scenario, with the prediction of each method."""
    classes: list = field(default_factory=list)  # names of the channels
    palette: list = field(default_factory=list)  # their colours, RGB
    pictures: list = field(default_factory=list)
    missing: list = field(default_factory=list)  # why images are absent
    # by key of a group: images whose prediction its last step has changed
    changes: dict = field(default_factory=dict)

    def colour(self, labels: np.ndarray) -> np.ndarray:
        """Paint labels (H, W) in the classes' colours, (H, W, 3) uint8."""
        table = np.zeros((256, 3), np.uint8)
        table[:len(self.palette)] = self.palette
        table[VOID] = VOID_COLOUR
        return table[labels.astype(np.uint8)]

    def shares(self, labels: np.ndarray) -> list[tuple[str, str, float]]:
        """Name, colour and share of labels (H, W) of every class."""
        return [(*self.legend(c), float((labels == c).mean()))
                for c in range(len(self.classes))]

    def legend(self, channel: int) -> tuple[str, str]:
        """Name and colour of a class."""
        return self.classes[channel], hexadecimal(self.palette[channel])

    def shown(self) -> list[int]:
        """The channels that occur in any of the images."""
        found = set()
        for picture in self.pictures:
            for labels in (picture.truth, *picture.predictions.values()):
                found.update(np.unique(labels).tolist())
        return sorted(c for c in found if c < len(self.classes))


def photo(image: np.ndarray) -> str:
    """A photograph, (H, W, 3) uint8, as a JPEG inside a data URI."""
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
