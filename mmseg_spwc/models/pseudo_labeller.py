"""What the background of a step's images really shows, by the old model."""
import torch
from torch import Tensor

from .pseudo_label import EntropyThresholds, pseudo_labels


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
