"""Changes of a whole batch of small images at once.

:class:`PixelOrders` and :class:`RisingLevels` make an image another task's;
the classes below them augment. Each of these takes images and as many uniform
random numbers per sample as its ``draws`` says. :func:`counter_uniforms` makes
each number a hash of seed, epoch, sample and draw, so that it is the same in
any batch, process and worker.

The work is done by numpy and OpenCV, which copy rows of bytes several times
faster than torch does.
"""
import cv2
import numpy as np
import torch
from numpy.lib.stride_tricks import sliding_window_view
from torch import Tensor
from torch.nn import functional as F

from mmseg_spwc.registry import TRANSFORMS
from mmseg_spwc.scenario import ClassificationScenario

# of SplitMix64 (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number
# Generators", OOPSLA 2014)
_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)


class PixelOrders:
    """Pixel orders of a permuted scenario, for images of ``size`` pixels."""

    def __init__(self, scenario: ClassificationScenario, size: int) -> None:
        self.scenario = scenario
        self.size = size
        # made when asked for: training asks for one of a thousand
        self.orders: dict[int, np.ndarray] = {}

    def __call__(self, images: Tensor, tasks: Tensor) -> Tensor:
        """Permute the pixels of images (B, C, H, W) as their tasks (B,) do."""
        flat = images.flatten(2).numpy()  # (B, C, P)
        if flat.shape[2] != self.size:
            raise ValueError(
                f'An image has {flat.shape[2]} pixels, others {self.size}: '
                'a permuted scenario needs images of one size.')
        found = np.unique(tasks.numpy())
        if len(found) == 1:  # most batches; spares two copies
            out = _reordered(flat, self._order(found[0]))
            return torch.from_numpy(out).view_as(images)
        out = np.empty_like(flat)
        for task in found:
            rows = (tasks == task).numpy()
            out[rows] = _reordered(flat[rows], self._order(task))
        return torch.from_numpy(out).view_as(images)

    def _order(self, task: int) -> np.ndarray:
        task = int(task)
        if task not in self.orders:
            self.orders[task] = self.scenario.permutation(task, self.size)
        return self.orders[task]


def _reordered(images: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Put the pixels (B, C, P) into an order (P,), all images alike."""
    # a transposed table is put in order by copying whole rows, in a third of
    # the time; a thousand images stay in the processor's cache
    rows = images.reshape(-1, len(order))
    out = np.empty_like(rows)
    for begin in range(0, len(rows), 1000):
        part = slice(begin, begin + 1000)
        cv2.transpose(cv2.transpose(rows[part])[order], dst=out[part])
    return out.reshape(images.shape)


class RisingLevels:
    """Noise and turns that grow from task to task.

    What happens to an image depends on the scenario's seed, the task, the
    image and whether it tests; every epoch sees the same.
    """

    def __init__(self, scenario: ClassificationScenario,
                 testing: bool) -> None:
        self.scenario = scenario
        self.testing = testing

    def __call__(self, images: Tensor, tasks: Tensor, ids: Tensor) -> Tensor:
        """Change uint8 images (B, C, H, W) as their tasks (B,) do, by their
        places (B,) in the dataset."""
        changed = [
            self._changed(image, *key) for image, *key in zip(
                images.numpy(), tasks.tolist(), ids.tolist(), strict=True)
        ]
        return torch.from_numpy(np.stack(changed))

    def _changed(self, image: np.ndarray, task: int,
                 index: int) -> np.ndarray:
        scenario, level = self.scenario, self.scenario.level(task)
        if not level:
            return image
        rng = np.random.default_rng(
            (scenario.seed, task, index, self.testing))
        largest = level * scenario.rotation
        if largest:
            angle = rng.uniform(-largest, largest)
            image = np.stack([_turned(channel, angle) for channel in image])
        noise = rng.standard_normal(image.shape, np.float32)
        noisy = np.rint(image + 255 * level * scenario.noise * noise)
        return np.clip(noisy, 0, 255).astype(np.uint8)


def _turned(image: np.ndarray, angle: float) -> np.ndarray:
    height, width = image.shape
    centre = ((width - 1) / 2, (height - 1) / 2)
    matrix = cv2.getRotationMatrix2D(centre, angle, 1.)
    return cv2.warpAffine(image, matrix, (width, height))


@TRANSFORMS.register_module()
class BatchRandomFlip:
    """Mirror an image left to right.

    Args:
        prob (float): How likely. Defaults to 0.5.
    """

    draws = 1

    def __init__(self, prob: float = 0.5) -> None:
        if not 0 <= prob <= 1:
            raise ValueError(f'prob is {prob}: give a number from 0 to 1.')
        self.prob = prob

    def __call__(self, images: Tensor, uniforms: Tensor) -> Tensor:
        """Flip the images (B, C, H, W) whose number (B, 1) is low."""
        chosen = (uniforms[:, 0] < self.prob).numpy()
        flipped = images.numpy().copy()
        flipped[chosen] = flipped[chosen][..., ::-1]
        return torch.from_numpy(flipped)


@TRANSFORMS.register_module()
class BatchRandomShift:
    """Move an image by whole pixels, with zeros where it was not.

    The same as padding by ``padding`` and cropping the original size at a
    random place.

    Args:
        padding (int): The farthest move. Defaults to 4.
    """

    draws = 2

    def __init__(self, padding: int = 4) -> None:
        if padding < 0:
            raise ValueError(f'padding is {padding}: give 0 or more.')
        self.padding = padding

    def __call__(self, images: Tensor, uniforms: Tensor) -> Tensor:
        """Move the images (B, C, H, W) by their numbers (B, 2)."""
        padded = F.pad(images, (self.padding, ) * 4).numpy()
        # a view of all crops, (B, C, 2p + 1, 2p + 1, H, W)
        crops = sliding_window_view(padded, images.shape[2:], axis=(2, 3))
        top, left = (uniforms * (2 * self.padding + 1)).long().numpy().T
        return torch.from_numpy(crops[np.arange(len(images)), :, top, left])


def splitmix64(state: np.ndarray) -> np.ndarray:
    """First output of SplitMix64 from every state, uint64 of any shape."""
    with np.errstate(over='ignore'):  # arithmetic is modulo 2^64
        z = np.asarray(state, dtype=np.uint64) + _GAMMA
        z = (z ^ (z >> np.uint64(30))) * _FIRST
        z = (z ^ (z >> np.uint64(27))) * _SECOND
    return z ^ (z >> np.uint64(31))


def counter_uniforms(seed: int, epochs: np.ndarray, indices: np.ndarray,
                     draws: int) -> np.ndarray:
    """Uniform numbers (B, draws) in [0, 1) by seed, epoch (B,) or (), sample
    (B,) and draw."""
    state = splitmix64(np.uint64(seed))
    for counter in (epochs, indices):
        state = splitmix64(state ^ np.asarray(counter).astype(np.uint64))
    counters = np.arange(draws, dtype=np.uint64)
    state = splitmix64(state[:, None] ^ counters)  # (B, draws)
    return (state >> np.uint64(11)) * 2.0**-53
