"""A pixel classifier with one 1x1 convolution for each step."""
import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn


def checked_channels(channels: Sequence[int]) -> tuple:
    """Return the channels of every step, or say why they cannot be.

    Args:
        channels (Sequence[int]): Channels added by each step. A later step
            may add none (domain-incremental learning).
    """
    channels = tuple(channels)
    if not channels or channels[0] < 1 or min(channels) < 0:
        raise ValueError(
            'channels must hold the channels added by each step, at least '
            f'one in the first and none negative, but got {channels}.')
    return channels


class GrowingClassifier(nn.Module):
    """Classifies pixels with the channels that each step has added.

    The logits of all steps are concatenated. Parameters of earlier steps
    keep their names and shapes when a step is added, so a checkpoint of step
    t-1 loads into the classifier of step t without surgery.

    Args:
        in_channels: Channels of the features.
        channels: Channels added by each step, background included in the
            first. A later step may add none (domain-incremental learning);
            it gets no convolution.
    """

    def __init__(self, in_channels: int, channels: Sequence[int]) -> None:
        super().__init__()
        self.channels = checked_channels(channels)
        self.in_channels = in_channels
        self.out_channels = sum(self.channels)
        self.convs = nn.ModuleList(
            nn.Conv2d(in_channels, added, 1) for added in self.channels
            if added)

    def forward(self, x: Tensor) -> Tensor:
        """Map features (B, in_channels, H, W) to (B, out_channels, H, W)."""
        return torch.cat([conv(x) for conv in self.convs], dim=1)

    @torch.no_grad()
    def initialise_new(self,
                       policy: str,
                       background: int = 0,
                       share: float | None = None) -> None:
        """Initialise the channels of the last step from the background.

        Call it once, after the earlier steps' weights are loaded. It does
        nothing at the first step and where the last step adds no channel.

        Args:
            policy: ``'default'`` keeps torch's initialisation;
                ``'background'`` copies the background's weight and leaves
                all biases (published RCIL); ``'balanced'`` shares the
                background's probability out evenly (MiB): the new channels
                get w_bg and b_bg - log(C_new + 1), and b_bg is lowered by
                the same; ``'share'`` gives the new channels together the
                part ``share`` of the background's probability, and equals
                ``'balanced'`` for C_new / (C_new + 1); ``'index'`` is
                ``'share'`` with C_new / C, where C counts the channels of
                all steps so far, so later classes start with less;
                ``'zero'`` sets weight and bias to 0.
            background: Channel of the background, not a new one.
            share: For the policy ``'share'``, between 0 and 1.
        """
        if policy not in POLICIES:
            raise ValueError(f'Unknown initialisation policy {policy!r}: '
                             f'choose one of {sorted(POLICIES)}.')
        _check_share(policy, share)
        added = self.channels[-1]
        if len(self.channels) == 1 or added == 0:
            return
        num_old = self.out_channels - added
        if not 0 <= background < num_old:
            raise ValueError(
                f'The background channel {background} is not among the '
                f'{num_old} channels of earlier steps.')
        if policy == 'index':
            share = added / self.out_channels
        options = {} if share is None else dict(share=share)
        POLICIES[policy](
            self.convs[-1], *self._channel(background), **options)

    def _channel(self, index: int) -> tuple[Tensor, Tensor]:
        """Views of one channel's weight (C, 1, 1) and bias ()."""
        for conv in self.convs:
            if index < conv.out_channels:
                return conv.weight[index], conv.bias[index]
            index -= conv.out_channels
        raise IndexError(index)

    @torch.no_grad()
    def to_conv(self) -> nn.Conv2d:
        """Return one plain 1x1 convolution that computes the same."""
        like = self.convs[0].weight
        conv = nn.Conv2d(
            self.in_channels,
            self.out_channels,
            1,
            device=like.device,
            dtype=like.dtype)
        conv.weight.copy_(torch.cat([c.weight for c in self.convs]))
        conv.bias.copy_(torch.cat([c.bias for c in self.convs]))
        return conv


def grow_head(head: nn.Module, channels: Sequence[int]) -> GrowingClassifier:
    """Give a decode head one classifier for each step.

    Replaces ``head.conv_seg``, which every pixel-classifying mmseg head has,
    by freshly initialised convolutions and sets ``head.num_classes`` and
    ``head.out_channels``. Nothing else is touched: a head with further
    per-class layers (DAHead, EncHead) keeps them as they were built.

    Args:
        head: A ``BaseDecodeHead`` with a ``conv_seg``.
        channels: Channels added by each step so far.

    Returns:
        The new ``head.conv_seg``.
    """
    old = getattr(head, 'conv_seg', None)
    if old is None:
        raise TypeError(
            f'{type(head).__name__} has no conv_seg that could grow: it does '
            'not classify pixels by a 1x1 convolution. Choose a head such as '
            'DeepLabV3CSSHead, ASPPHead, FCNHead or SegformerHead.')
    device = next(old.parameters()).device
    head.conv_seg = GrowingClassifier(old.in_channels, channels).to(device)
    head.num_classes = head.out_channels = head.conv_seg.out_channels
    return head.conv_seg


def _keep(new: nn.Conv2d, weight: Tensor, bias: Tensor) -> None:
    pass


def _copy_background(new: nn.Conv2d, weight: Tensor, bias: Tensor) -> None:
    new.weight.copy_(weight.expand_as(new.weight))


def _balance(new: nn.Conv2d, weight: Tensor, bias: Tensor) -> None:
    _copy_background(new, weight, bias)
    bias -= math.log(new.out_channels + 1)
    new.bias.copy_(bias.expand_as(new.bias))


def _share(new: nn.Conv2d, weight: Tensor, bias: Tensor,
           share: float) -> None:
    _copy_background(new, weight, bias)
    each = bias + math.log(share / new.out_channels)
    new.bias.copy_(each.expand_as(new.bias))
    bias += math.log1p(-share)


def _check_share(policy: str, share: float | None) -> None:
    if (policy == 'share') != (share is not None):
        raise ValueError(
            "The policy 'share', and no other, needs the share of the "
            f'background, such as 0.05; got {policy!r} and {share!r}.')
    if share is not None and not 0 < share < 1:
        raise ValueError(f'share must lie between 0 and 1, got {share}.')


def _zero(new: nn.Conv2d, weight: Tensor, bias: Tensor) -> None:
    new.weight.zero_()
    new.bias.zero_()


POLICIES = {
    'default': _keep,
    'background': _copy_background,
    'balanced': _balance,
    'share': _share,
    'index': _share,
    'zero': _zero,
}
