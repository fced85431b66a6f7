"""Pseudo labels: what the old model sees in today's background.

After `PLOP <https://arxiv.org/abs/2011.11390>`_. A background pixel takes the
old model's class if that model is sure enough of it, and is ignored
otherwise. Sure is an entropy below the median entropy of the class
(:mod:`~mmseg_spwc.models.entropy_thresholds`) or, more simply, a probability
above a bound.

``compat='plop'`` computes entropies, medians and factors as the published
code does; there an image without background loses its whole loss.
"""
import torch
from torch import Tensor

from mmseg_spwc.labels import VOID
from mmseg_spwc.utils.options import is_number

from .entropy_thresholds import (
    EntropyThresholds,
    check_compat,
    check_pixels,
    normalised_entropy,
    predicted,
)


def pseudo_labels(old_logits: Tensor,
                  labels: Tensor,
                  num_old: int,
                  thresholds: Tensor | None = None,
                  confidence: float | None = None,
                  compat: str | None = None,
                  ignore_index: int = VOID) -> tuple[Tensor, Tensor]:
    """Label the background with the old model's predictions.

    A prediction counts where its entropy is below its class's threshold, or
    where its probability exceeds the confidence; give one of both.

    Args:
        old_logits (Tensor): (B, C_old, H, W), at label size.
        labels (Tensor): (B, H, W); below ``num_old`` is background.
        num_old (int): C_old.
        thresholds (Tensor, optional): (C_cur,), of
            :meth:`EntropyThresholds.thresholds`. Defaults to None.
        confidence (float, optional): A probability. Defaults to None.
        compat (str, optional): 'plop' for the published form.
        ignore_index (int): Label of rejected pixels. Defaults to 255.

    Returns:
        tuple[Tensor, Tensor]: New labels (B, H, W) and the accepted share of
        each image's background (B,); without any, 1, or 0 as published.
    """
    check_compat(compat)
    check_pixels(old_logits, labels, num_old)
    if (thresholds is None) == (confidence is None):
        raise ValueError('give either thresholds or confidence')
    classes = predicted(old_logits)  # (B, H, W)
    if confidence is not None:
        sure = old_logits.float().softmax(dim=1).amax(dim=1) > confidence
    else:
        entropy = normalised_entropy(old_logits, len(thresholds), compat)
        sure = entropy < thresholds.to(entropy)[classes]
    background = labels < num_old
    candidates = classes.where(sure, ignore_index)
    share = _accepted_share(background & sure, background, compat)
    return candidates.where(background, labels), share


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
    """

    def __init__(self,
                 confidence: float | None = None,
                 portion: float = 0.5,
                 floor: float = 0.001,
                 adaptive: bool = True,
                 compat: str | None = None) -> None:
        shares = dict(portion=portion)
        if confidence is not None:
            shares['confidence'] = confidence
        for name, share in shares.items():
            if not is_number(share) or not 0 <= share <= 1:
                raise ValueError(f'pseudo_label.{name} is {share!r}: give a '
                                 'number from 0 to 1.')
        self.confidence = confidence
        self.portion = portion
        self.floor = floor
        self.adaptive = adaptive
        self.compat = compat
        self.thresholds: Tensor | None = None

    @property
    def needs_thresholds(self) -> bool:
        return self.confidence is None and self.thresholds is None

    def histogram(self, num_classes: int,
                  device: torch.device) -> EntropyThresholds:
        """Return the empty histogram that thresholds are read from."""
        return EntropyThresholds(
            num_classes, compat=self.compat, device=device)

    def set_thresholds(self, entropies: EntropyThresholds) -> None:
        self.thresholds = entropies.thresholds(self.floor, self.portion)

    def __call__(self, old_logits: Tensor, labels: Tensor,
                 num_old: int) -> tuple:
        """Return new labels (B, H, W) and the images' weights (B,) or None.
        """
        if self.needs_thresholds:
            raise RuntimeError(
                'Pseudo labels by entropy need thresholds: add '
                "hooks=dict(pseudo_label=dict(type='mmseg_spwc."
                "PseudoLabelHook')) to the method.")
        labels, share = pseudo_labels(
            old_logits, labels, num_old, self.thresholds, self.confidence,
            self.compat)
        return labels, share if self.adaptive else None


def _accepted_share(accepted: Tensor, background: Tensor,
                    compat: str | None) -> Tensor:
    total = background.sum(dim=(1, 2)).float()  # (B,)
    kept = accepted.sum(dim=(1, 2)).float()
    if compat is None:
        return (kept / total).where(total > 0, 1)
    return kept / (total + 1e-6)
