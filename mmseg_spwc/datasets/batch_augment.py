"""Augmentations of a whole batch of small images at once.

Each takes images and as many uniform random numbers a sample as its
``draws`` says, and draws none itself (see
:mod:`mmseg_spwc.datasets.counter_random`). The work is done by numpy, which
copies rows of bytes several times faster than torch does.
"""
import numpy as np
import torch
from numpy.lib.stride_tricks import sliding_window_view
from torch import Tensor
from torch.nn import functional as F

from mmseg_spwc.registry import TRANSFORMS


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
