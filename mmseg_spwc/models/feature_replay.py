"""ALIFE-M's formulas: features are remembered, rotated and replayed.

`ALIFE <https://arxiv.org/abs/2210.06816>`_-M keeps averaged features of old
classes in place of old images (:class:`FeatureMemory`). When the network
changes, so does what it makes of an old class: the memory follows by one
rotation a class (stage 2, :class:`MemoryRotation`); then the classifiers are
trained with its help (stage 3, :func:`replay_loss`).
"""
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from mmseg_spwc.labels import VOID

from .losses import AdaptiveLogitLoss
from .losses.base import check_labels, full_precision
from .taps import predicted


def region_means(features: Tensor, labels: Tensor, classes: Sequence[int],
                 min_region: float = 0.005) -> dict[int, Tensor]:
    """Mean features (M, D) of every class, one for each image of which it
    covers more than the share ``min_region``.

    Decoder maps (B, D, h, w) are coarser than the labels (B, H, W): a cell
    counts as much as it is covered by the class.
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
    """What is remembered of old classes: ``size`` features of each."""

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
        """Remember a new class by draws, with replacement, of (M, D)."""
        drawn = torch.randint(len(features), (self.size,))
        self.features[label] = features[drawn.to(features.device)].detach()

    def stacked(self) -> Tensor:
        """All features, (K, size, D), in the order of :attr:`classes`."""
        return torch.stack([self.features[c] for c in self.classes])

    def replace(self, features: Tensor) -> None:
        """Take (K, size, D), such as rotated :meth:`stacked`, instead."""
        self.features = dict(zip(self.classes, features.detach(), strict=True))

    def labelled(self) -> tuple[Tensor, Tensor]:
        """All features (K * size, D) and their classes (K * size,)."""
        features = self.stacked()
        labels = torch.tensor(self.classes).to(features.device)
        return features.flatten(0, 1), labels.repeat_interleave(self.size)

    def to(self, device: torch.device) -> None:
        """Move the features."""
        self.features = {c: f.to(device) for c, f in self.features.items()}

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
        memory.features = dict(zip(
            state['classes'].tolist(), state.get('features', ()),
            strict=True))
        return memory


def cayley(skew: Tensor) -> Tensor:
    r"""Rotations :math:`R = (I - A)(I + A)^{-1}` of skew A (..., D, D)."""
    identity = torch.eye(skew.shape[-1], dtype=skew.dtype, device=skew.device)
    # both factors are functions of A, so their order does not matter
    return torch.linalg.solve(identity + skew, identity - skew)


class CayleyRotations(nn.Module):
    """One learnt rotation of D-dimensional features for every class.

    Its parameters are the part of a skew matrix above the diagonal; all
    start as the identity.
    """

    def __init__(self, num_classes: int, dim: int) -> None:
        super().__init__()
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


def likeness(maps: Tensor, memory: Tensor) -> Tensor:
    r"""How much each position (B, h, w) shows a class: :math:`w_p =
    \operatorname{softmax}_p (10 \sum_n \max(0, \cos(m_n, f_p)))`.

    Of centred decoder maps (B, D, h, w) and centred features (N, D).
    """
    cosines = torch.einsum('nd,bdhw->bnhw', functional.normalize(memory),
                           functional.normalize(maps))
    scores = 10 * cosines.relu().sum(dim=1)  # (B, h, w)
    return scores.flatten(1).softmax(dim=1).view_as(scores)


def representatives(old_maps: Tensor, maps: Tensor,
                    memory: Tensor) -> tuple[Tensor, Tensor]:
    """Soft representatives r_prev and r_cur (K, B, D) of every class.

    They are means of both networks' centred maps (B, D, h, w) over the places
    where the old one sees what the memory, (K, N, D), holds.
    """
    # class by class: all cosines at once would be K * N * B * h * w numbers
    weights = torch.stack([likeness(old_maps, m) for m in memory])
    return tuple(
        torch.einsum('kbhw,bdhw->kbd', weights, x) for x in (old_maps, maps))


def rotation_loss(rotated: Tensor, current: Tensor, logits: Tensor,
                  classes: Tensor, mix: float = 0.99) -> Tensor:
    r"""What a rotation of old features into the new space must achieve.

    :math:`(1 - \lambda) \, CE(g(R r_{prev} + o), c) + \lambda \, (1 -
    \cos(R r_{prev}, r_{cur}))`, averaged over classes (K,) and images:
    ``rotated`` and ``current`` are (K, B, D), ``logits`` (K, B, C).
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
    images by the old and by the new network, ``before`` and ``offset`` (D,).
    The classifier is a 1x1 convolution.
    """

    def __init__(self, memory: FeatureMemory, before: Tensor, offset: Tensor,
                 classifier: nn.Module, mix: float = 0.99) -> None:
        super().__init__()
        self.before, self.offset, self.mix = before, offset, mix
        self.centred = memory.stacked() - before  # (K, N, D)
        self.classes = torch.tensor(memory.classes).to(self.centred.device)
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

    Focal loss on labels (B, H, W) whose background is what the old network
    sees there, plus ``ali`` times ALI on the background, plus ``mem`` times
    the cross entropy of the memory's logits (M, C_cur) and classes (M,).
    """
    filled = predicted(old_logits).where(labels == 0, labels)
    replay = functional.cross_entropy(replayed, replayed_labels)
    return (pixel_focal(logits, filled) + mem * replay +
            AdaptiveLogitLoss(ali)(logits, old_logits, labels))
