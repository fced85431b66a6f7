"""An image classifier with one linear layer for each step."""
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from .growing_classifier import checked_channels

# where MMPretrain's heads keep their last layer: LinearClsHead,
# StackedLinearClsHead, VisionTransformerClsHead
PLACES = ('fc', 'fc.fc', 'layers.head')


class GrowingLinear(nn.Module):
    """Classifies features with the channels that each step has added.

    The logits of all steps are concatenated. Parameters of earlier steps
    keep their names and shapes when a step is added, so a checkpoint of step
    t-1 loads into the classifier of step t without surgery.

    Args:
        in_features (int): Size of the features.
        channels (Sequence[int]): Channels added by each step. A later step
            may add none (domain-incremental learning); it gets no layer.
    """

    def __init__(self, in_features: int, channels: Sequence[int]) -> None:
        super().__init__()
        self.channels = checked_channels(channels)
        self.in_features = in_features
        self.out_features = sum(self.channels)
        self.linears = nn.ModuleList(
            nn.Linear(in_features, added) for added in self.channels if added)

    def forward(self, x: Tensor) -> Tensor:
        """Map features (B, in_features) to logits (B, out_features)."""
        if len(self.linears) == 1:
            return self.linears[0](x)
        return torch.cat([linear(x) for linear in self.linears], dim=1)

    def fused(self, x: Tensor) -> Tensor:
        """Compute :meth:`forward` by one matrix product.

        Many small layers train in half the time so, but hooks on the layers
        do not see it.
        """
        if len(self.linears) == 1:
            return self.linears[0](x)
        weight = torch.cat([linear.weight for linear in self.linears])
        bias = torch.cat([linear.bias for linear in self.linears])
        return functional.linear(x, weight, bias)

    @torch.no_grad()
    def initialise_new(self, policy: str) -> None:
        """Initialise the channels of the last step.

        Call it once, after the earlier steps' weights are loaded. It does
        nothing at the first step and where the last step adds no channel.

        Args:
            policy (str): ``'default'`` keeps them as they were built: as
                torch draws them, unless the head's ``init_cfg`` says
                otherwise; ``'torch'`` draws them anew as torch does;
                ``'zero'`` sets weight and bias to 0; ``'balanced'`` sets
                both to the mean of all earlier channels', so that a new
                class competes as an average old one.
        """
        if policy not in POLICIES:
            raise ValueError(f'Unknown initialisation policy {policy!r}: '
                             f'choose one of {sorted(POLICIES)}.')
        if len(self.channels) > 1 and self.channels[-1] > 0:
            *old, new = self.linears
            POLICIES[policy](new, old)


def grow_linear(head: nn.Module, channels: Sequence[int]) -> GrowingLinear:
    """Give a classification head one linear layer for each step.

    Replaces the head's last layer by freshly initialised ones and sets
    ``head.num_classes``. Hidden layers before it are not touched.

    Args:
        head (nn.Module): An MMPretrain head that ends in one ``nn.Linear``,
            found at one of :data:`PLACES`.
        channels (Sequence[int]): Channels added by each step so far.

    Returns:
        GrowingLinear: The new last layer.
    """
    linears = [m for m in head.modules() if isinstance(m, nn.Linear)]
    for place in PLACES:
        old = _find(head, place)
        if type(old) is nn.Linear and old.bias is not None \
                and old is linears[-1]:
            new = GrowingLinear(old.in_features, channels)
            parent, _, name = place.rpartition('.')
            setattr(_find(head, parent), name, new.to(old.weight.device))
            head.num_classes = new.out_features
            return new
    raise TypeError(
        f'{type(head).__name__} does not end in one linear layer with bias '
        'that could grow. Choose LinearClsHead, StackedLinearClsHead or '
        'VisionTransformerClsHead of MMPretrain, or a head that keeps its '
        f'last layer at one of {", ".join(PLACES)}.')


def _find(module: nn.Module, place: str) -> nn.Module | None:
    for name in place.split('.') if place else ():
        module = getattr(module, name, None)
    return module


def _keep(new: nn.Linear, old: list) -> None:
    pass


def _draw(new: nn.Linear, old: list) -> None:
    new.reset_parameters()


def _zero(new: nn.Linear, old: list) -> None:
    new.weight.zero_()
    new.bias.zero_()


def _average(new: nn.Linear, old: list) -> None:
    for name in ('weight', 'bias'):
        mean = torch.cat([getattr(part, name) for part in old]).mean(0)
        getattr(new, name).copy_(mean.expand_as(getattr(new, name)))


POLICIES = {
    'default': _keep,
    'torch': _draw,
    'zero': _zero,
    'balanced': _average,
}
