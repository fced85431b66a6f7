"""UCD: pixels of one class are drawn together, those of others apart."""
import torch
import torch.nn.functional as F
from torch import Tensor

from mmseg_spwc.labels import VOID
from mmseg_spwc.registry import MODELS
from mmseg_spwc.utils.options import is_positive

from ..quantities import Maps
from .base import Loss, full_precision, positive_temperature, shrink


def contrast(anchors: Tensor, items: Tensor, labels: Tensor,
             item_labels: Tensor, certainty: Tensor, temperature: float,
             compat: str | None = None) -> Tensor:
    r"""Supervised contrast of anchors (N, D) with items (M, D), of length 1.

    The first N items are the anchors themselves, and no anchor is compared
    with itself. With :math:`s_{ij}` the cosine over the temperature, an
    anchor's loss is the mean, over the items of its class, of
    :math:`-\omega_{ij} \log[e^{s_{ij}} / (e^{s_{ij}} + \sum_n e^{s_{in}})]`
    with n over the items of other classes and the ``certainty``
    :math:`\omega` (N, M); what is returned is the mean over the anchors that
    have an item of their class, or 0. The published code (``compat='ucd'``)
    subtracts the largest cosine from the exponent of the pair alone.
    """
    scores = anchors @ items.T / temperature  # (N, M)
    same = labels[:, None] == item_labels
    others = scores.masked_fill(same, float('-inf')).logsumexp(1, True)
    pairs = same.clone()
    pairs.fill_diagonal_(False)
    shift = scores.detach().amax(1, True) if compat == 'ucd' else 0.
    loss = certainty * F.softplus(others - scores + shift) * pairs
    counts = pairs.sum(dim=1)
    each = loss.sum(dim=1) / counts.clamp(min=1)
    return each.sum() / (counts > 0).sum().clamp(min=1)


@MODELS.register_module()
class ContrastiveDistillationLoss(Loss):
    """Uncertainty-aware contrastive distillation of `UCD
    <https://arxiv.org/abs/2203.14098>`_, on the decoder's maps.

    A pixel has its label or, in the background, the class that the old model
    sees; background of both takes no part. The new model's pixels are
    compared with each other and with the old model's where it gave the
    label. A pair counts as much as the old model is sure that both are of one
    class, and fully if both have new labels. Each process compares its own
    pixels, as published. See :func:`contrast`.

    Args:
        temperature (float): Divides the cosines. Defaults to 0.07.
        max_anchors (int): Compare so many pixels of a batch at most, drawn at
            random. Defaults to 4096.
        compat (str, optional): 'ucd' for the published denominator. Defaults
            to None.
    """

    def __init__(self, temperature: float = 0.07, max_anchors: int = 4096,
                 compat: str | None = None, **kwargs) -> None:
        super().__init__(**kwargs)
        self.temperature = positive_temperature(temperature)
        if not is_positive(max_anchors):
            raise ValueError(f'max_anchors is {max_anchors!r}: give a whole '
                             'number above 0.')
        if compat not in (None, 'ucd'):
            raise ValueError(f"compat must be None or 'ucd', got {compat!r}")
        self.max_anchors = max_anchors
        self.compat = compat

    @full_precision
    def forward(self, features: Maps, old_features: Maps, given: Tensor,
                num_old: int) -> Tensor:
        seen = old_features.logits.argmax(dim=1)  # (B, h, w)
        labels = shrink(given, seen.shape[1:])
        by_old = labels == 0
        labels = labels.where(~by_old, seen)
        chosen = ((labels > 0) & (labels != VOID)).flatten().nonzero()[:, 0]
        if len(chosen) > self.max_anchors:
            order = torch.randperm(len(chosen), device=chosen.device)
            chosen = chosen[order[:self.max_anchors]]
        labels, by_old = labels.flatten()[chosen], by_old.flatten()[chosen]
        anchors, old, sure = (
            _pixels(maps)[chosen] for maps in (
                features.decoder, old_features.decoder.detach(),
                old_features.logits.detach().softmax(dim=1)))
        anchors, old = F.normalize(anchors, dim=1), F.normalize(old, dim=1)
        items = torch.cat([anchors.detach(), old[by_old]])
        item_labels = torch.cat([labels, labels[by_old]])
        both_new = (labels >= num_old)[:, None] & (item_labels >= num_old)
        certainty = sure @ torch.cat([sure, sure[by_old]]).T
        return self.loss_weight * contrast(
            anchors, items, labels, item_labels,
            certainty.masked_fill(both_new, 1.), self.temperature,
            self.compat)


def _pixels(maps: Tensor) -> Tensor:
    """The pixels (B * h * w, D) of maps (B, D, h, w)."""
    return maps.permute(0, 2, 3, 1).flatten(0, 2)
