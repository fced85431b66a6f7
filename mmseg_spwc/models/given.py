"""Which labels of a batch name a class, where images are replayed.

In an image of the step a label of an old class is background: only this
step's channels are named. A replayed image names others, which its dataset
tells.
"""
from collections.abc import Sequence

import torch
from torch import Tensor

from mmseg_spwc.labels import VOID


def named_channels(samples: Sequence, logits: Tensor) -> Tensor | None:
    """Channels that the labels of each image name, (B, C), bool.

    None where nothing is replayed: then they are those of the step.
    """
    if 'labelled' not in samples[0]:
        return None
    channels = torch.arange(logits.shape[1], device=logits.device)
    spans = torch.tensor([sample.labelled for sample in samples],
                         device=logits.device)  # (B, 2)
    return (spans[:, :1] <= channels) & (channels < spans[:, 1:])


def is_background(labels: Tensor, num_old: int,
                  named: Tensor | None = None) -> Tensor:
    """Pixels (B, H, W) whose label does not say of which class they are.

    Args:
        labels (Tensor): (B, H, W); ignored ones are no background.
        num_old (int): C_old.
        named (Tensor, optional): See :func:`named_channels`.
    """
    if named is None:
        return labels < num_old
    index = labels.masked_fill(labels == VOID, 0).long()
    found = named.gather(1, index.flatten(1)).view_as(labels)
    return ~found & (labels != VOID)
