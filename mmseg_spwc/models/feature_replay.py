"""ALIFE-M's formulas: remembered features are rotated, then replayed.

When the network changes, so does what it makes of an old class. The memory of
`ALIFE <https://arxiv.org/abs/2210.06816>`_-M follows by one rotation a class
(stage 2, :class:`MemoryRotation`); then the classifiers are trained with its
help (stage 3, :func:`replay_loss`).
"""
import torch
from torch import Tensor, nn
from torch.nn import functional

from mmseg_spwc.labels import VOID

from .entropy_thresholds import predicted
from .feature_memory import FeatureMemory
from .losses.adaptive_logit import adaptive_logit
from .losses.common import check_labels, full_precision


def cayley(skew: Tensor) -> Tensor:
    r"""Rotation :math:`R = (I - A)(I + A)^{-1}` of a skew matrix A.

    :math:`I + A` is invertible for every skew A, R is orthogonal with
    determinant 1, and A = 0 gives the identity.

    Args:
        skew (Tensor): Skew-symmetric matrices, (..., D, D).

    Returns:
        Tensor: Rotations, (..., D, D).
    """
    identity = torch.eye(skew.shape[-1], dtype=skew.dtype, device=skew.device)
    # both factors are functions of A, so their order does not matter
    return torch.linalg.solve(identity + skew, identity - skew)


class CayleyRotations(nn.Module):
    """One learnt rotation of D-dimensional features for every class.

    A rotation has D (D - 1) / 2 parameters, the part of its skew matrix
    above the diagonal. All start as the identity.

    Args:
        num_classes (int): Number of rotations K.
        dim (int): Dimension D of the features.
    """

    def __init__(self, num_classes: int, dim: int) -> None:
        super().__init__()
        if num_classes < 1 or dim < 1:
            raise ValueError('expected at least one class and one dimension, '
                             f'got {num_classes} and {dim}')
        self.dim = dim
        self.upper = nn.Parameter(
            torch.zeros(num_classes, dim * (dim - 1) // 2))
        self.register_buffer(
            'above', torch.triu_indices(dim, dim, 1), persistent=False)

    def matrices(self) -> Tensor:
        """The rotations, (K, D, D)."""
        half = self.upper.new_zeros(len(self.upper), self.dim, self.dim)
        half[:, self.above[0], self.above[1]] = self.upper
        return cayley(half - half.mT)

    def forward(self, features: Tensor) -> Tensor:
        """Rotate the features (K, N, D) of every class by its rotation."""
        return features @ self.matrices().mT


def likeness(maps: Tensor, memory: Tensor,
             sharpness: float = 10.) -> Tensor:
    r"""How much each position shows the class, a softmax over positions.

    .. math::
        w_p = \operatorname{softmax}_p \Big( 10 \sum_n
        \max(0, \cos(m_n, f_p)) \Big)

    Args:
        maps (Tensor): Centred decoder maps, (B, D, h, w).
        memory (Tensor): Centred features of the class, (N, D).
        sharpness (float): The factor. Defaults to 10.

    Returns:
        Tensor: Weights that add up to 1 in every image, (B, h, w).
    """
    cosines = torch.einsum('nd,bdhw->bnhw', functional.normalize(memory),
                           functional.normalize(maps))
    scores = sharpness * cosines.relu().sum(dim=1)  # (B, h, w)
    return scores.flatten(1).softmax(dim=1).view_as(scores)


def representatives(old_maps: Tensor, maps: Tensor,
                    memory: Tensor) -> tuple[Tensor, Tensor]:
    """Soft representatives of every class by the old and the new network.

    Both are means with the same weights: the places where the old network
    sees what the memory holds.

    Args:
        old_maps (Tensor): The old network's centred maps, (B, D, h, w).
        maps (Tensor): The new network's centred maps, (B, D, h, w).
        memory (Tensor): Centred features of K classes, (K, N, D).

    Returns:
        tuple: r_prev and r_cur, (K, B, D) each.
    """
    # class by class: all cosines at once would be K * N * B * h * w numbers
    weights = torch.stack([likeness(old_maps, m) for m in memory])
    return tuple(
        torch.einsum('kbhw,bdhw->kbd', weights, x) for x in (old_maps, maps))


def rotation_loss(rotated: Tensor,
                  current: Tensor,
                  logits: Tensor,
                  classes: Tensor,
                  mix: float = 0.99) -> Tensor:
    r"""What a rotation of old features into the new space must achieve.

    :math:`(1 - \lambda) \, CE(g(R r_{prev} + o), c) + \lambda \, (1 -
    \cos(R r_{prev}, r_{cur}))`, averaged over classes and images.

    Args:
        rotated (Tensor): :math:`R r_{prev}`, (K, B, D).
        current (Tensor): :math:`r_{cur}`, (K, B, D).
        logits (Tensor): The classifier's of the rotated, (K, B, C).
        classes (Tensor): Channels of the K classes, (K,).
        mix (float): :math:`\lambda`. Defaults to 0.99.

    Returns:
        Tensor: A scalar.
    """
    labels = classes[:, None].expand(logits.shape[:2])  # (K, B)
    entropy = functional.cross_entropy(
        logits.flatten(0, 1), labels.flatten())
    distance = 1 - functional.cosine_similarity(rotated, current, dim=2)
    return (1 - mix) * entropy + mix * distance.mean()


class MemoryRotation(nn.Module):
    r"""Stage 2: carries a memory over into the new network's features.

    A feature m of class c becomes :math:`R_c (m - \mu_{prev}) +
    \mu_{cur}`, where :math:`\mu` is the mean of all positions of the step's
    images by the old and by the new network. The rotations are learnt by
    :func:`rotation_loss`.

    Args:
        memory (FeatureMemory): Features of K old classes.
        before (Tensor): :math:`\mu_{prev}`, (D,).
        offset (Tensor): :math:`\mu_{cur}`, (D,).
        classifier (nn.Module): A 1x1 convolution, taken as a constant.
        mix (float): Share of the cosine in the loss. Defaults to 0.99.
    """

    def __init__(self,
                 memory: FeatureMemory,
                 before: Tensor,
                 offset: Tensor,
                 classifier: nn.Module,
                 mix: float = 0.99) -> None:
        super().__init__()
        self.before, self.offset, self.mix = before, offset, mix
        self.centred = memory.stacked() - before  # (K, N, D)
        self.classes = torch.tensor(
            memory.classes, device=self.centred.device)
        self.classifier = classifier.requires_grad_(False)
        self.rotations = CayleyRotations(
            len(self.centred), len(offset)).to(self.centred)

    def forward(self, old_maps: Tensor, maps: Tensor) -> Tensor:
        """The loss on the decoder maps (B, D, h, w) of both networks."""
        old, current = representatives(
            old_maps - self.before[:, None, None],
            maps - self.offset[:, None, None], self.centred)
        rotated = self.rotations(old)  # (K, B, D)
        logits = classify(self.classifier, rotated + self.offset)
        return rotation_loss(rotated, current, logits, self.classes, self.mix)

    def carried(self) -> Tensor:
        """The memory in the new network's features, (K, N, D)."""
        return self.rotations(self.centred) + self.offset


def classify(classifier: nn.Module, features: Tensor) -> Tensor:
    """Logits (K, M, C) of features (K, M, D) by a 1x1 convolution."""
    return classifier(features.mT[..., None])[..., 0].mT


@full_precision
def pixel_focal(logits: Tensor, labels: Tensor, gamma: float = 2.) -> Tensor:
    r"""`Focal loss <https://arxiv.org/abs/1708.02002>`_ over a softmax p.

    :math:`-(1 - p_y)^\gamma \log p_y`, averaged over all pixels, void ones
    included (mmseg's is over sigmoids).

    Args:
        logits (Tensor): (B, C, H, W).
        labels (Tensor): (B, H, W).
        gamma (float): Focusing exponent. Defaults to 2.

    Returns:
        Tensor: A scalar.
    """
    check_labels(logits, labels)
    entropy = functional.cross_entropy(
        logits, labels.long(), ignore_index=VOID,
        reduction='none')  # (B, H, W)
    doubt = -(-entropy).expm1()  # 1 - p_y
    return (doubt**gamma * entropy).mean()


def replay_loss(logits: Tensor, old_logits: Tensor, labels: Tensor,
                replayed: Tensor, replayed_labels: Tensor, ali: float,
                mem: float) -> Tensor:
    """What the classifiers learn from in stage 3.

    Focal loss on labels whose background is what the old network sees there,
    plus ALI on the background, plus cross entropy on the memory.

    Args:
        logits (Tensor): (B, C_cur, H, W).
        old_logits (Tensor): (B, C_old, H, W), taken as constants.
        labels (Tensor): (B, H, W).
        replayed (Tensor): Logits of the memory, (M, C_cur).
        replayed_labels (Tensor): Its classes, (M,).
        ali (float): Factor of ALI.
        mem (float): Factor of the memory.

    Returns:
        Tensor: A scalar.
    """
    filled = predicted(old_logits).where(labels == 0, labels)
    replay = functional.cross_entropy(replayed, replayed_labels)
    return (pixel_focal(logits, filled) + mem * replay +
            ali * adaptive_logit(logits, old_logits, labels))
