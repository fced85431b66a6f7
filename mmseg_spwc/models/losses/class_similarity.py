"""REMINDER: old classes that look like a new one are distilled most."""
import torch
import torch.nn.functional as F
from torch import Tensor

from mmseg_spwc.labels import VOID
from mmseg_spwc.registry import MODELS

from ..quantities import Maps
from .base import Loss, check_old_logits, full_precision, positive_temperature


def class_sums(features: Tensor, labels: Tensor,
               classes: list[int]) -> tuple[Tensor, Tensor]:
    """Add up maps (B, D, h, w) over the pixels (B, H, W) of classes.

    The maps count as enlarged bilinearly to the labels' size, corners
    aligned. That is linear, so each class's mask is brought down by the
    adjoint instead, which takes a fraction of the memory. Returned are sums
    (K, D) and numbers of pixels (K,).
    """
    small = features.new_zeros(
        len(features), 1, *features.shape[2:], requires_grad=True)
    with torch.enable_grad():
        large = F.interpolate(small, labels.shape[1:], mode='bilinear',
                              align_corners=True)
    sums, counts = [], []
    for label in classes:
        mask = (labels == label)[:, None].to(features)
        cover, = torch.autograd.grad(large, small, mask, retain_graph=True)
        sums.append((features.detach() * cover).sum(dim=(0, 2, 3)))
        counts.append(mask.sum())
    if not classes:
        return features.new_zeros(0, features.shape[1]), \
            features.new_zeros(0)
    return torch.stack(sums), torch.stack(counts)


def similarities(means: Tensor, prototypes: Tensor, delta: float) -> Tensor:
    """Share (K, C_old) of every old class in what a new class looks like.

    It is the softmax of the cosines of means (K, D) and prototypes
    (C_old, D); shares below ``delta`` times the mean share are dropped.
    """
    cosines = F.cosine_similarity(means[:, None], prototypes[None], dim=2)
    shares = cosines.softmax(dim=1)
    # rounding must not drop what is equal
    least = (1 - 1e-5) * delta / len(prototypes)
    return shares.masked_fill(shares < least, 0)


@MODELS.register_module()
class ClassSimilarityLoss(Loss):
    r"""Class-similarity weighted distillation of REMINDER.

    On pixels of a new class y, pseudo labels included, with both models'
    softmax over the old channels at temperature T, it is the mean of
    :math:`-T^2 \sum_{c < C_{old}} (r_{yc} q_c + 10^{-7}) \log p_c`. The share
    :math:`r_{yc}` says how much the class looks like an old one: see
    :func:`similarities`, of the mean of the decoder's maps over the batch and
    of the old classes' prototypes, which :class:`PrototypeHook` keeps. Both
    means are over the pixels of one process.

    Args:
        temperature (float): T. Defaults to 3.
        delta (float): Drop old classes with less than this part of an even
            share. Defaults to 0.
    """

    def __init__(self, temperature: float = 3., delta: float = 0.,
                 **kwargs) -> None:
        super().__init__(**kwargs)
        self.temperature = positive_temperature(temperature)
        self.delta = delta
        self.prototypes: Tensor | None = None

    def set_prototypes(self, prototypes: Tensor) -> None:
        """Take the prototypes of the old classes, (C_old, D)."""
        self.prototypes = prototypes

    @full_precision
    def forward(self, logits: Tensor, old_logits: Tensor, labels: Tensor,
                features: Maps, num_old: int,
                old_weight: Tensor | None = None) -> Tensor:
        check_old_logits(logits, old_logits)
        if self.prototypes is None:
            raise RuntimeError(
                'ClassSimilarityLoss needs prototypes: add hooks=dict('
                "prototypes=dict(type='mmseg_spwc.PrototypeHook')) to "
                'method.every.')
        new = (labels >= num_old) & (labels != VOID)
        classes = labels[new].unique().tolist()
        if not classes:
            return 0 * logits.sum()
        sums, counts = class_sums(features.decoder, labels, classes)
        shares = logits.new_zeros(VOID + 1, num_old)
        shares[classes] = similarities(
            sums / counts[:, None], self.prototypes.to(sums), self.delta)
        kept, target = (
            (x[:, :num_old].permute(0, 2, 3, 1)[new] / self.temperature)
            for x in (logits, old_logits.detach()))  # (N, C_old)
        target = shares[labels[new]] * target.softmax(dim=1) + 1e-7
        loss = -(target * kept.log_softmax(dim=1)).sum(dim=1)
        if old_weight is not None:
            loss = loss * old_weight[new]
        return self.loss_weight * self.temperature**2 * loss.mean()
