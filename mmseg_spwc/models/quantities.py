"""What a loss may ask for, by the names of its ``forward``'s arguments.

A quantity marked :data:`OfTeacher` needs the previous model: the student of a
step has a teacher only if a loss asks for one of those.
"""
import functools
from collections.abc import Sequence
from typing import Annotated, TypedDict, TypeVar, get_type_hints

from torch import Tensor, nn

T = TypeVar('T')
OfTeacher = Annotated[T, 'of the previous model']


class Maps(tuple):
    """The maps (B, C, h, w) of one pass that losses compare, in its order.

    A loss may take them as a sequence that ends in the logits.
    """

    @property
    def stages(self) -> 'Maps':
        """The backbone's, with ``pre_activation`` before the last one's."""
        return self[:-2]

    @property
    def decoder(self) -> Tensor:
        """What the classifier of the decode head reads."""
        return self[-2]

    @property
    def logits(self) -> Tensor:
        """The logits at their own size."""
        return self[-1]


class SegmentorQuantities(TypedDict, total=False):
    """Those of a batch of images with labelled pixels."""
    logits: Tensor  # at label size, (B, C, H, W)
    features: Maps
    stages: Sequence[Tensor]  # what the heads read, (B, C_l, h_l, w_l) each
    old_logits: OfTeacher[Tensor]  # at label size, (B, C_old, H, W)
    old_features: OfTeacher[Maps]
    given: Tensor  # channels, as the dataset labels them, (B, H, W)
    labels: Tensor  # the same, pseudo labels included
    # channels that the labels of each image name, (B, C), bool; None where
    # nothing is replayed and they are this step's
    named: Tensor | None
    pixel_weight: Tensor | None  # of every pixel's loss, (B, H, W)
    # of every pixel's distillation; None without priorities on it
    old_weight: Tensor | None
    class_weight: Tensor | None  # of every old class's, (C_old,), likewise
    classifier: nn.Module  # GrowingClassifier of the decode head
    old_classifier: OfTeacher[nn.Module]
    num_new: int  # channels of this step
    num_old: int  # channels of the steps before


class ClassifierQuantities(TypedDict, total=False):
    """Those of a batch of labelled images."""
    features: Tensor  # what the last layer reads, (B, D)
    logits: Tensor  # of all heads, (B, C)
    old_logits: OfTeacher[Tensor]  # of the old heads, (B, C_old)
    labels: Tensor  # channels, counted over the layers of all steps, (B,)
    mask: Tensor | None  # channels that compete for an image, (B, C), bool
    old_heads: list[tuple[int, int]]  # first channel and size of each
    num_old_tasks: int  # tasks before this step's
    num_new: int  # channels of this step
    num_old: int  # channels of the steps before


@functools.cache
def of_teacher(quantities: type) -> set[str]:
    """Names of the quantities that need the previous model."""
    hints = get_type_hints(quantities, include_extras=True)
    return {name for name, hint in hints.items()
            if hasattr(hint, '__metadata__')}
