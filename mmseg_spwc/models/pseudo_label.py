"""Pseudo labels: what the old model sees in today's background.

After `PLOP <https://arxiv.org/abs/2011.11390>`_. A background pixel takes the
old model's class if that model is sure enough of it, and is ignored
otherwise. Sure is an entropy below the median entropy of the class or, more
simply, a probability above a bound.

``compat='plop'`` computes what the published code does: the entropy is
averaged, not summed, over classes and divided by ln C_old and by ln C_cur, so
that it never exceeds 1 / (C_old ln C_cur); the search of the median counts
bin indices in place of pixels, and may accept everything; and an image
without background loses its whole loss.
"""
import math

import torch
from torch import Tensor

from mmseg_spwc.labels import VOID
from mmseg_spwc.utils.options import is_number

from .losses.base import is_background
from .taps import OldPass, predicted


class PseudoLabeller:
    """Keeps the settings and thresholds of a step's pseudo labels.

    Args:
        confidence (float, optional): Accept a prediction whose probability
            exceeds it. Defaults to None, for thresholds on the entropy that
            are measured before training.
        portion (float): Share of every class's pixels that the entropy
            threshold accepts. Defaults to 0.5, the median.
        floor (float): Least entropy threshold. Defaults to 0.001.
        adaptive (bool): Weight every image by the share of its background
            that was accepted, as PLOP does. Defaults to True.
        compat (str, optional): 'plop' for the published forms of entropy,
            median and share. Defaults to None.
        score (str): ``'softmax'`` or ``'sigmoid'``, whose probabilities are
            independent: it needs a confidence, and a pixel that the old model
            is not sure of keeps its label. Defaults to 'softmax'.
    """

    def __init__(self, confidence: float | None = None, portion: float = 0.5,
                 floor: float = 0.001, adaptive: bool = True,
                 compat: str | None = None, score: str = 'softmax') -> None:
        for name, share in (('portion', portion), ('confidence', confidence)):
            if share is not None and (
                    not is_number(share) or not 0 <= share <= 1):
                raise ValueError(f'pseudo_label.{name} is {share!r}: give a '
                                 'number from 0 to 1.')
        if compat not in _QUANTILES:
            raise ValueError(
                f"compat must be None or 'plop', got {compat!r}")
        if score not in ('softmax', 'sigmoid') or (
                score == 'sigmoid' and confidence is None):
            raise ValueError(
                f"pseudo_label.score is {score!r}: it is 'softmax', or "
                "'sigmoid' with a confidence.")
        self.score = score
        self.confidence = confidence
        self.portion = portion
        self.floor = floor
        self.adaptive = adaptive
        self.compat = compat
        self.thresholds: Tensor | None = None

    @property
    def needs_thresholds(self) -> bool:
        return self.confidence is None and self.thresholds is None

    def __call__(self, old: OldPass, labels: Tensor, num_old: int,
                 named: Tensor | None = None) -> tuple:
        """New labels (B, H, W), and the images' weights (B,) or None.

        Of replayed images the ``named`` (B, C) tell what is background. An
        image without any has the weight 1, or 0 as published.
        """
        if self.needs_thresholds:
            raise RuntimeError(
                'Pseudo labels by entropy need thresholds: add '
                "hooks=dict(pseudo_label=dict(type='mmseg_spwc."
                "PseudoLabelHook')) to the method.")
        background = is_background(labels, num_old, named)
        if self.score == 'sigmoid':
            sure = old.logits.float().sigmoid().amax(dim=1) >= self.confidence
            # of all classes the largest, that of the unknown among them
            sure &= (old.classes > 0) & (old.classes < num_old)
            return old.classes.where(background & sure, labels), None
        _check_pixels(old.logits, labels, num_old)
        sure = self._sure(old)
        total = background.sum(dim=(1, 2)).float()  # (B,)
        kept = (background & sure).sum(dim=(1, 2)).float()
        share = (kept / total).where(total > 0, 1) if self.compat is None \
            else kept / (total + 1e-6)
        labels = old.classes.where(sure, VOID).where(background, labels)
        return labels, share if self.adaptive else None

    def _sure(self, old: OldPass) -> Tensor:
        """Where (B, H, W) a probability, or else an entropy, says enough."""
        if self.confidence is not None:
            largest = old.logits.float().softmax(dim=1).amax(dim=1)
            return largest > self.confidence
        entropy = normalised_entropy(
            old.logits, len(self.thresholds), self.compat)
        return entropy < self.thresholds.to(entropy)[old.classes]


class EntropyThresholds:
    """Median entropy of every class that the old model predicts.

    One pass over the training images fills ``histogram``, which counts the
    pixels by predicted class and entropy; several processes sum theirs
    before reading thresholds.
    """

    def __init__(self, num_classes: int, bins: int = 100,
                 compat: str | None = None,
                 device: torch.device | str | None = None) -> None:
        self.compat = compat
        self.histogram = torch.zeros(
            num_classes, bins, dtype=torch.long, device=device)

    @torch.no_grad()
    def update(self, old_logits: Tensor, labels: Tensor, num_old: int,
               named: Tensor | None = None) -> None:
        """Count the background pixels, labelled below ``num_old``."""
        _check_pixels(old_logits, labels, num_old)
        num_classes, num_bins = self.histogram.shape
        background = is_background(labels, num_old, named)
        entropy = normalised_entropy(old_logits, num_classes, self.compat)
        bins = (entropy * num_bins).long().clamp(0, num_bins - 1)
        cells = predicted(old_logits) * num_bins + bins
        # all pixels, others as 0: a choice of pixels would wait for a GPU
        counts = torch.zeros_like(self.histogram, device=cells.device)
        counts.view(-1).scatter_add_(
            0, cells.flatten(), background.flatten().long())
        self.histogram += counts.to(self.histogram.device)

    def thresholds(self, floor: float = 0.001, portion: float = 0.5) -> Tensor:
        """Entropy (C_cur,) below which a portion of each class's pixels lies.

        ``floor`` is the least, and that of a class never predicted.
        """
        quantile = _QUANTILES[self.compat](self.histogram, portion)
        seen = self.histogram.sum(dim=1) > 0
        return quantile.where(seen, floor).clamp(min=floor)


def normalised_entropy(old_logits: Tensor, num_classes: int,
                       compat: str | None = None) -> Tensor:
    """Entropy (B, H, W) of the old softmax, 0 for certain, 1 for uniform.

    ``num_classes``, C_cur, is needed by the published form only.
    """
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


def histogram_quantile(histogram: Tensor, portion: float) -> Tensor:
    """Quantile (C,) of counts (C, bins) over [0, 1], NaN for an empty row.

    Counts are spread evenly inside a bin.
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

    Infinite where no bin fits and the last is empty.
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


def _check_pixels(old_logits: Tensor, labels: Tensor, num_old: int) -> None:
    """Check that the old model saw every pixel that has a label."""
    if (old_logits.dim() != 4 or labels.shape != old_logits[:, 0].shape
            or old_logits.shape[1] != num_old):
        raise ValueError(
            f'expected old logits (B, {num_old}, H, W) upsampled to labels '
            f'(B, H, W), got {tuple(old_logits.shape)} and '
            f'{tuple(labels.shape)}')
