"""SDR: the backbone's maps of a class are kept together, apart, sparse."""
from collections.abc import Sequence
from itertools import combinations

import torch
import torch.nn.functional as F
from torch import Tensor

from mmseg_spwc.labels import VOID
from mmseg_spwc.registry import MODELS

from ..quantities import Maps
from .base import Loss, full_precision, is_background, shrink


def repulsion(means: Sequence[Tensor]) -> Tensor:
    """Mean of 1 / distance over all pairs of at least two means (D,)."""
    distances = [torch.linalg.vector_norm(a - b)
                 for a, b in combinations(means, 2)]
    return (1 / torch.stack(distances).clamp(min=1e-6)).mean()


def sparsity(pixels: Tensor, labels: Tensor) -> Tensor:
    r"""Mean over pixels (N, D) of :math:`\sum_k e^{g_k} / \sum_k g_k`.

    Each is divided by the largest activation of its class among them. With k
    of D channels at that value, and 0 elsewhere, it is e - 1 + D / k, smallest
    for dense maps. A pixel without activation does not count.
    """
    largest = pixels.new_zeros(VOID + 1).scatter_reduce(
        0, labels, pixels.detach().amax(dim=1), 'amax')[labels]
    active = pixels.sum(dim=1) > 0
    g = pixels[active] / largest[active, None]
    if not len(g):
        return 0 * pixels.sum()
    return (g.exp().sum(dim=1) / g.sum(dim=1).clamp(min=1e-2)).mean()


@MODELS.register_module()
class DisentanglingLoss(Loss):
    r"""Prototypes, attraction, repulsion and sparsity of `SDR
    <https://arxiv.org/abs/2103.06342>`_, on the backbone's last map.

    A pixel has its label or, in the background, the class that the old model
    sees; the background takes part in the sparsity alone. With the mean
    :math:`g_c` of a class's pixels in the batch:

    - ``loss_match``: :math:`|g_c - M_c|^2 / D` for old classes that the old
      model sees, where :math:`M_c` is their prototype, which
      :class:`PrototypeHook` keeps with ``maps='backbone'``;
    - ``loss_attract``: the same of every labelled pixel. A class of the step
      has :math:`g_c` for :math:`M_c`;
    - ``loss_repel``: see :func:`repulsion`, of the :math:`g_c`;
    - ``loss_sparse``: see :func:`sparsity`, of activations above 0.

    All are means over classes, pairs or pixels of one process.

    Args:
        match (float): Factor of the first. Defaults to 0.01.
        attract (float): Of the second. Defaults to 1e-3.
        repel (float): Of the third. Defaults to 1e-3.
        sparse (float): Of the fourth. Defaults to 1e-3.
    """

    def __init__(self, match: float = 0.01, attract: float = 1e-3,
                 repel: float = 1e-3, sparse: float = 1e-3,
                 **kwargs) -> None:
        super().__init__(**kwargs)
        self.factors = dict(
            match=match, attract=attract, repel=repel, sparse=sparse)
        self.prototypes: Tensor | None = None

    def set_prototypes(self, prototypes: Tensor) -> None:
        """Take the prototypes of the old classes, (C_old, D)."""
        self.prototypes = prototypes

    @full_precision
    def forward(self, features: Maps, old_features: Maps, given: Tensor,
                num_old: int, named: Tensor | None = None,
                class_weight: Tensor | None = None) -> dict[str, Tensor]:
        if self.prototypes is None:
            raise RuntimeError(
                'DisentanglingLoss needs prototypes: add hooks=dict('
                "prototypes=dict(type='mmseg_spwc.PrototypeHook', "
                "maps='backbone')) to method.every.")
        maps = features.stages[-1]
        given = shrink(given, maps.shape[2:]).long()
        seen = F.interpolate(old_features.logits.detach(), maps.shape[2:],
                             mode='bilinear').argmax(dim=1)
        unnamed = is_background(given, num_old, named)
        counted = (given != VOID).flatten()
        labels = seen.where(unnamed, given).flatten()[counted]
        by_old = unnamed.flatten()[counted]
        pixels = maps.permute(0, 2, 3, 1).flatten(0, 2)[counted]  # (N, D)
        means = {c: pixels[labels == c].mean(dim=0)
                 for c in labels.unique().tolist() if c > 0}
        prototypes = self.prototypes.to(pixels)
        parts = dict(match=[], attract=[])
        for c, mean in means.items():
            old = c < num_old
            own, guessed = labels == c, (labels == c) & by_old
            if guessed.any():
                found = F.mse_loss(pixels[guessed].mean(dim=0), prototypes[c])
                parts['match'].append(
                    found if class_weight is None else found * class_weight[c])
            if (own & ~by_old).any():
                centre = prototypes[c] if old else mean.detach()
                parts['attract'].append(
                    ((pixels[own & ~by_old] - centre)**2).mean())
        nothing = 0 * pixels.sum()
        values = {name: torch.stack(part).mean() if part else nothing
                  for name, part in parts.items()}
        values['repel'] = repulsion([*means.values()]) if len(means) > 1 \
            else nothing
        values['sparse'] = sparsity(pixels.relu(), labels)
        return {f'loss_{name}': self.loss_weight * self.factors[name] * value
                for name, value in values.items()}
