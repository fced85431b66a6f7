"""What two networks see, at the same places, of a class in the memory."""
import torch
from torch import Tensor
from torch.nn import functional


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
