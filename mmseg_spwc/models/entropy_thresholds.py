"""How sure the old model must be of a pixel: medians of its entropy.

After `PLOP <https://arxiv.org/abs/2011.11390>`_. ``compat='plop'`` computes
what the published code does: the entropy is averaged, not summed, over
classes and divided by ln C_old and by ln C_cur, so that it never exceeds
1 / (C_old ln C_cur); the search of the median counts bin indices in place of
pixels, and may accept everything.
"""
import math

import torch
from torch import Tensor


def predicted(logits: Tensor) -> Tensor:
    """Channel of every pixel's largest logit, the first one of equals.

    On a CPU this takes a quarter of the time of ``max`` over the channels,
    and a tenth of that of ``argmax``: the largest of numbers is found many
    pixels at once, its place is not.

    Args:
        logits (Tensor): (B, C, H, W).

    Returns:
        Tensor: (B, H, W).
    """
    last = logits.shape[1] - 1
    # counted backwards, the first of equals is the largest
    places = torch.arange(
        last, -1, -1, device=logits.device,
        dtype=torch.uint8 if last < 256 else torch.int32).view(-1, 1, 1)
    largest = logits == logits.amax(dim=1, keepdim=True)
    return last - (largest * places).amax(dim=1).long()


def normalised_entropy(old_logits: Tensor,
                       num_classes: int,
                       compat: str | None = None) -> Tensor:
    """Entropy of the old model's softmax, 0 for certain, 1 for uniform.

    Args:
        old_logits (Tensor): (B, C_old, H, W).
        num_classes (int): C_cur, needed by the published form only.
        compat (str, optional): 'plop' for the published form. Defaults to
            None.

    Returns:
        Tensor: (B, H, W), in [0, 1].
    """
    check_compat(compat)
    num_old = old_logits.shape[1]
    log_prob = old_logits.float().log_softmax(dim=1)
    prob = log_prob.exp()
    if num_old == 1:
        return torch.zeros_like(prob[:, 0])
    if compat is None:
        entropy = -(prob * log_prob).sum(dim=1) / math.log(num_old)
        return entropy.clamp(0, 1)
    entropy = -(prob * (prob + 1e-8).log()).mean(dim=1)
    return entropy / math.log(num_old) / math.log(num_classes)


class EntropyThresholds:
    """Median entropy of every class that the old model predicts.

    One pass over the training images fills a histogram; with several
    processes, sum ``histogram`` over them before reading thresholds::

        entropies = EntropyThresholds(num_classes)
        for images, labels in loader:
            entropies.update(old_model(images), labels, num_old)
        thresholds = entropies.thresholds()

    Args:
        num_classes (int): C_cur, all classes seen so far with background.
        bins (int): Bins of [0, 1]. Defaults to 100.
        compat (str, optional): 'plop' for the published form. Defaults to
            None.
        device (torch.device | str, optional): Where the histogram lives.
            Defaults to None, for the CPU.

    Attributes:
        histogram (Tensor): (C_cur, bins), long, pixels by predicted class
            and entropy.
    """

    def __init__(self,
                 num_classes: int,
                 bins: int = 100,
                 compat: str | None = None,
                 device: torch.device | str | None = None) -> None:
        check_compat(compat)
        self.num_classes = num_classes
        self.bins = bins
        self.compat = compat
        self.histogram = torch.zeros(
            num_classes, bins, dtype=torch.long, device=device)

    @torch.no_grad()
    def update(self, old_logits: Tensor, labels: Tensor,
               num_old: int) -> None:
        """Count the background pixels of a batch.

        Args:
            old_logits (Tensor): (B, C_old, H, W), at label size.
            labels (Tensor): (B, H, W); below ``num_old`` is background.
            num_old (int): C_old.
        """
        check_pixels(old_logits, labels, num_old)
        background = labels < num_old
        entropy = normalised_entropy(old_logits, self.num_classes,
                                     self.compat)[background]
        bins = (entropy * self.bins).long().clamp(max=self.bins - 1)
        classes = predicted(old_logits)[background]
        cells = classes * self.bins + bins
        counts = cells.bincount(minlength=self.histogram.numel())
        self.histogram += counts.to(self.histogram.device).view_as(
            self.histogram)

    def thresholds(self,
                   floor: float = 0.001,
                   portion: float = 0.5) -> Tensor:
        """Entropy below which a portion of each class's pixels lies.

        Args:
            floor (float): Least threshold, also that of a class that was
                never predicted. Defaults to 0.001.
            portion (float): Which quantile, 0.5 for the median. Defaults to
                0.5.

        Returns:
            Tensor: (C_cur,).
        """
        if not 0 <= portion <= 1:
            raise ValueError(f'portion must lie in [0, 1], got {portion}')
        quantile = _QUANTILES[self.compat](self.histogram, portion)
        seen = self.histogram.sum(dim=1) > 0
        return quantile.where(seen, floor).clamp(min=floor)


def histogram_quantile(histogram: Tensor, portion: float) -> Tensor:
    """Quantile of every row, spread evenly inside a bin.

    Args:
        histogram (Tensor): (C, bins), counts over [0, 1].
        portion (float): Share of the counts below the quantile.

    Returns:
        Tensor: (C,); NaN for an empty row.
    """
    counts = histogram.double()
    target = portion * counts.sum(dim=1, keepdim=True)  # (C, 1)
    reached = (counts.cumsum(dim=1) >= target) & (counts > 0)
    first = reached.int().argmax(dim=1, keepdim=True)  # (C, 1)
    below = (counts.cumsum(dim=1) - counts).gather(1, first)
    inside = (target - below) / counts.gather(1, first)
    return ((first + inside) / histogram.shape[1]).squeeze(1).float()


def plop_quantile(histogram: Tensor, portion: float) -> Tensor:
    """The published search, which adds up bin indices in place of counts.

    Args:
        histogram (Tensor): (C, bins), counts over [0, 1].
        portion (float): Share of the counts that is searched.

    Returns:
        Tensor: (C,); infinite where no bin fits and the last is empty.
    """
    counts = histogram.double()
    target = portion * counts.sum(dim=1, keepdim=True)  # (C, 1)
    index = torch.arange(counts.shape[1], device=counts.device)
    passed = index.cumsum(0) - index
    fits = (passed <= target) & (target <= passed + counts)
    # a search without success ends at the last bin, its index added too
    fails = ~fits.any(dim=1, keepdim=True)
    first = fits.int().argmax(dim=1, keepdim=True)
    first = first.masked_fill(fails, len(index) - 1)
    passed = passed[first].where(~fails, index.sum())
    inside = (target - passed) / counts.gather(1, first)
    return ((first + inside) / len(index)).squeeze(1).float()


_QUANTILES = {None: histogram_quantile, 'plop': plop_quantile}


def check_compat(compat: str | None) -> None:
    """Check the name of a published form."""
    if compat not in _QUANTILES:
        raise ValueError(f"compat must be None or 'plop', got {compat!r}")


def check_pixels(old_logits: Tensor, labels: Tensor, num_old: int) -> None:
    """Check that the old model saw every pixel that has a label."""
    if (old_logits.dim() != 4 or labels.shape != old_logits[:, 0].shape
            or old_logits.shape[1] != num_old):
        raise ValueError(
            f'expected old logits (B, {num_old}, H, W) upsampled to labels '
            f'(B, H, W), got {tuple(old_logits.shape)} and '
            f'{tuple(labels.shape)}')
