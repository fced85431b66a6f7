"""Averaged features of old classes, kept in place of old images."""
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor
from torch.nn import functional


def region_means(features: Tensor,
                 labels: Tensor,
                 classes: Sequence[int],
                 min_region: float = 0.005) -> dict[int, Tensor]:
    """Mean feature of every class in every image that shows enough of it.

    The map is coarser than the labels: a pixel has the feature of the cell
    it lies in, so a cell counts as much as it is covered by the class.

    Args:
        features (Tensor): Decoder maps, (B, D, h, w).
        labels (Tensor): Channels of the pixels, (B, H, W).
        classes (Sequence[int]): Channels to look for.
        min_region (float): Share of an image's pixels that a class must
            exceed. Defaults to 0.005.

    Returns:
        dict: By class, one mean an image, (M, D) with M from 0 to B.
    """
    means = {}
    for label in classes:
        region = (labels == label).to(features)  # (B, H, W)
        shown = region.mean(dim=(1, 2)) > min_region
        cover = functional.adaptive_avg_pool2d(
            region[shown][:, None], features.shape[2:])  # (M, 1, h, w)
        total = (features[shown] * cover).sum(dim=(2, 3))
        means[label] = total / cover.sum(dim=(2, 3))
    return means


class FeatureMemory:
    """N features a class, as `ALIFE <https://arxiv.org/abs/2210.06816>`_-M
    remembers old classes by.

    Args:
        size (int): Features kept of every class. Defaults to 1000.
    """

    def __init__(self, size: int = 1000) -> None:
        if size < 1:
            raise ValueError(f'a memory keeps at least one feature of every '
                             f'class, got size={size}')
        self.size = size
        self.features: dict[int, Tensor] = {}  # (size, D) each

    @property
    def classes(self) -> list[int]:
        """The classes it remembers, in the order of their channels."""
        return sorted(self.features)

    def add(self, label: int, features: Tensor) -> None:
        """Remember a class by features drawn with replacement.

        Args:
            label (int): Channel of the class, a new one.
            features (Tensor): What was collected, (M, D) with M at least 1.
        """
        if label in self.features:
            raise ValueError(f'the memory already holds class {label}')
        if features.dim() != 2 or len(features) == 0:
            raise ValueError(
                f'expected at least one feature (M, D) of class {label}, got '
                f'{tuple(features.shape)}')
        drawn = torch.randint(len(features), (self.size,))
        self.features[label] = features[drawn.to(features.device)].detach()

    def stacked(self) -> Tensor:
        """All features, (K, size, D), in the order of :attr:`classes`."""
        if not self.features:
            raise ValueError('the memory is empty')
        return torch.stack([self.features[c] for c in self.classes])

    def replace(self, features: Tensor) -> None:
        """Take (K, size, D), such as rotated :meth:`stacked`, instead."""
        if features.shape != self.stacked().shape:
            raise ValueError(
                f'expected features {tuple(self.stacked().shape)}, got '
                f'{tuple(features.shape)}')
        for label, kept in zip(self.classes, features.detach(), strict=True):
            self.features[label] = kept

    def labelled(self) -> tuple[Tensor, Tensor]:
        """All features (K * size, D) and their classes (K * size,)."""
        features = self.stacked()
        labels = torch.tensor(self.classes, device=features.device)
        return features.flatten(0, 1), labels.repeat_interleave(self.size)

    def to(self, device: torch.device) -> 'FeatureMemory':
        """Move the features."""
        self.features = {c: f.to(device) for c, f in self.features.items()}
        return self

    def state_dict(self) -> dict[str, Tensor]:
        """Plain tensors on the CPU, safe to load with weights_only."""
        state = dict(
            size=torch.tensor(self.size), classes=torch.tensor(self.classes))
        if self.features:
            state['features'] = self.stacked().cpu()
        return state

    @classmethod
    def from_state_dict(cls, state: Mapping[str, Tensor]) -> 'FeatureMemory':
        """Rebuild a memory from :meth:`state_dict`."""
        memory = cls(int(state['size']))
        if 'features' in state:
            memory.features = dict(
                zip(state['classes'].tolist(), state['features'],
                    strict=True))
        return memory
