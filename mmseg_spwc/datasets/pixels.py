"""The permutation of an image's pixels that makes it another task's."""
import numpy as np
import torch
from torch import Tensor

from mmseg_spwc.scenario import ClassificationScenario


class PixelOrders:
    """Pixel orders of the first tasks of a permuted scenario.

    Args:
        scenario (ClassificationScenario): A scenario with ``permute``.
        num_tasks (int): How many tasks.
        size (int): Number of pixels of an image.
    """

    def __init__(self, scenario: ClassificationScenario, num_tasks: int,
                 size: int) -> None:
        self.size = size
        self.orders = [
            scenario.permutation(t, size) for t in range(num_tasks)
        ]

    def __call__(self, images: Tensor, tasks: Tensor) -> Tensor:
        """Permute the pixels of every image as its task does.

        Args:
            images (Tensor): (B, C, H, W).
            tasks (Tensor): (B,).
        """
        flat = images.flatten(2).numpy()  # (B, C, P)
        if flat.shape[2] != self.size:
            raise ValueError(
                f'An image has {flat.shape[2]} pixels, others {self.size}: '
                'a permuted scenario needs images of one size.')
        # numpy takes columns several times faster than torch does
        out = np.empty_like(flat)
        for task in tasks.unique().tolist():
            rows = (tasks == task).numpy()
            out[rows] = flat[rows].take(self.orders[task], axis=2)
        return torch.from_numpy(out).view_as(images)
