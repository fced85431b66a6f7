"""The doubled layers of representation compensation, and their folding."""
import copy
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm


class Doubled(nn.Module):
    """A layer twice: ``old``, which may be frozen, and a copy, ``new``.

    Both branches load the weights of the plain layer, so weights from
    anywhere can be loaded into a network with branches.
    """

    def __init__(self, layer: nn.Module, frozen: bool) -> None:
        super().__init__()
        self.old = layer
        self.new = copy.deepcopy(layer)
        self.old.requires_grad_(layer.weight.requires_grad and not frozen)

    def _load_from_state_dict(self, state_dict: dict, prefix: str,
                              *args) -> None:
        for key in self.new.state_dict():
            if prefix + key in state_dict:
                value = state_dict.pop(prefix + key)
                state_dict[f'{prefix}old.{key}'] = value
                state_dict[f'{prefix}new.{key}'] = value
        super()._load_from_state_dict(state_dict, prefix, *args)


class DoubledConv(Doubled):
    """Two convolutions on the same input, their maps side by side."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([self.old(x), self.new(x)], dim=1)


class FusedNorm(Doubled):
    """Normalises both branches and fuses them, channel by channel.

    In training every channel is drawn anew in every pass, for all images and
    pixels alike: from ``old`` alone (33 %), from ``new`` alone (33 %) or from
    their mean; in evaluation it is always the mean. The statistics of a
    frozen ``old`` stay as they are in training, too.
    """

    def __init__(self, norm: _BatchNorm, frozen: bool) -> None:
        super().__init__(norm, frozen)
        self.frozen = frozen
        # those under the norm, in the order of their concatenation
        self.convs: list[DoubledConv] = []
        self.train(norm.training)

    def train(self, mode: bool = True) -> 'FusedNorm':
        super().train(mode)
        self.old.train(mode and not self.frozen)
        return self

    def forward(self, x: Tensor) -> Tensor:
        sizes = [c.old.out_channels for c in self.convs for _ in range(2)]
        parts = x.split(sizes, dim=1)
        old = torch.cat(parts[::2], dim=1)  # (B, C, H, W)
        old = _ConstantNorm.apply(old, self.old) \
            if self.training and self.frozen else self.old(old)
        new = self.new(torch.cat(parts[1::2], dim=1))
        if not self.training:
            return (old + new) / 2
        # copied behind what the GPU does, without waiting for it
        share = draw_shares(old.shape[1]).to(
            old, non_blocking=True).view(1, -1, 1, 1)
        return share * old + (1 - share) * new


class _ConstantNorm(torch.autograd.Function):
    """A batch norm in evaluation that does not train, and so has no need to
    keep its input, as torch's does."""

    @staticmethod
    def forward(ctx, x: Tensor, norm: _BatchNorm) -> Tensor:
        ctx.norm = norm
        return F.batch_norm(x, norm.running_mean, norm.running_var,
                            norm.weight, norm.bias, eps=norm.eps)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad_output: Tensor) -> tuple:
        norm = ctx.norm
        # of the input only the shape is looked at
        return torch.ops.aten.native_batch_norm_backward(
            grad_output, grad_output, norm.weight, norm.running_mean,
            norm.running_var, None, None, False, norm.eps,
            [True, False, False])[0], None


class FoldedNorm(FusedNorm):
    """A fused norm whose frozen branch is part of its convolutions.

    In training branch ``old`` is an affine map of its input: its norm and
    its drawn share go into the kernels and biases of :class:`FoldedConv`, and
    the other share into the norm of ``new``. Two passes over the maps are
    left of six, and the numbers are the same up to rounding.
    """

    def __init__(self, norm: _BatchNorm) -> None:
        super().__init__(norm, frozen=True)
        self.share: Tensor | None = None  # of old in a pass, (C,)
        self.old_maps: dict[int, Tensor] = {}  # by their first channel

    def old_affine(self, part: slice) -> tuple[Tensor, Tensor]:
        """Scale and shift of ``old``, times its share in this pass."""
        if self.share is None:  # a pass begins
            self.share = draw_shares(self.old.num_features).to(
                self.old.weight, non_blocking=True)
        share = self.share[part]
        scale = self.old.weight[part] / (
            self.old.running_var[part] + self.old.eps).sqrt()
        shift = self.old.bias[part] - scale * self.old.running_mean[part]
        return share * scale, share * shift

    def forward(self, x: Tensor) -> Tensor:
        if not self.training:
            return super().forward(x)
        share, maps = 1 - self.share, self.old_maps
        self.share, self.old_maps = None, {}
        affine = dict(
            weight=share * self.new.weight, bias=share * self.new.bias)
        new = torch.func.functional_call(self.new, affine, (x, ))
        old = [maps[first] for first in sorted(maps)]
        return new + (old[0] if len(old) == 1 else torch.cat(old, dim=1))


class FoldedConv(DoubledConv):
    """In training it returns the map of ``new`` alone, and leaves that of
    ``old`` with the norm, of which ``part`` are its channels."""

    def __init__(self, conv: nn.Conv2d, norm: FoldedNorm, part: slice) -> None:
        super().__init__(conv, frozen=True)
        self.__dict__['norm'] = norm  # which has a place of its own
        self.part = part

    def forward(self, x: Tensor) -> Tensor:
        if not self.training:
            return super().forward(x)
        scale, shift = self.norm.old_affine(self.part)
        if self.old.bias is not None:
            shift = shift + scale * self.old.bias
        self.norm.old_maps[self.part.start] = self.old._conv_forward(
            x, scale.view(-1, 1, 1, 1) * self.old.weight, shift)
        return self.new(x)


def double(convs: Sequence[nn.Conv2d], norm: _BatchNorm, frozen: bool,
           folded: bool) -> FusedNorm:
    """Double convolutions and their norm, which holds them as ``convs``."""
    folded = folded and frozen and all(type(c) is nn.Conv2d for c in convs)
    fused = FoldedNorm(norm) if folded else FusedNorm(norm, frozen)
    start = 0
    for conv in convs:
        part = slice(start, start + conv.out_channels)
        start = part.stop
        fused.convs.append(FoldedConv(conv, fused, part) if folded else
                           DoubledConv(conv, frozen))
    return fused


def draw_shares(channels: int) -> Tensor:
    """Draw the share of branch ``old`` in every channel: 1, 0 or a half.

    On the CPU, so that processes with equal seeds agree on any device.
    """
    draw = torch.rand(channels)
    return torch.where(draw < 0.33, 1.0, torch.where(draw < 0.66, 0.0, 0.5))


@torch.no_grad()
def fold(norm: FusedNorm) -> None:
    """Turn ``new`` of a norm and its convolutions into the mean of both
    branches."""
    start, folded = 0, []
    for conv in norm.convs:
        part = slice(start, start + conv.new.out_channels)
        start = part.stop
        kernel, *rest = _fold_slice(conv, norm, part)
        conv.new.weight.copy_(kernel)
        if conv.new.bias is not None:
            conv.new.bias.zero_()
        folded.append(rest)
    targets = (norm.new.running_mean, norm.new.running_var, norm.new.weight,
               norm.new.bias)
    for target, values in zip(targets, zip(*folded, strict=True),
                              strict=True):
        target.copy_(torch.cat(values))


def _fold_slice(conv: DoubledConv, norm: FusedNorm, part: slice) -> tuple:
    r"""Kernel, and mean, variance, weight and bias of the norm's slice.

    With scales s = gamma / sqrt(var + eps), the mean of both branches is a
    convolution with the kernel K = (s_old W_old + s_new W_new) / 2 and a
    shift. A norm with running mean m and variance v that multiplies by
    sqrt(v + eps) again leaves K untouched in evaluation; m and v are the
    statistics of K's output, so that the norm does the same on the batches
    of the next step, in training mode. The variance follows also from the
    branches' correlation, for which the cosine of the kernels stands in
    (exact for equal branches or white input). Last, every kernel is given
    the mean length of the two it came from: folding then changes neither
    layer where both branches are equal, nor the rate at which normalised
    kernels learn.
    """
    old, new = (
        _Branch(c, n, part)
        for c, n in ((conv.old, norm.old), (conv.new, norm.new)))
    kernel = (old.scaled_kernel + new.scaled_kernel) / 2
    mean = (old.scale * old.mean + new.scale * new.mean) / 2
    cosine = F.cosine_similarity(old.kernel, new.kernel, dim=1)
    var = (old.spread**2 + new.spread**2 +
           2 * cosine * old.spread * new.spread) / 4

    length = (old.kernel.norm(dim=1) + new.kernel.norm(dim=1)) / 2
    ratio = length / kernel.norm(dim=1)
    ratio = torch.where(new.scale < 0, -ratio, ratio)
    ratio = torch.where(ratio.isfinite(), ratio, 1)  # K may be zero
    var = var.clamp(min=0) * ratio**2
    kernel = (kernel * ratio[:, None]).view_as(conv.new.weight)
    weight = (var + norm.new.eps).sqrt() / ratio
    return kernel, mean * ratio, var, weight, (old.bias + new.bias) / 2


class _Branch:
    """One branch in float64: its kernels (C, N) and its norm (C,)."""

    def __init__(self, conv: nn.Conv2d, norm: _BatchNorm, part: slice) -> None:
        self.kernel = conv.weight.double().flatten(1)
        self.bias = norm.bias[part].double()
        self.mean = norm.running_mean[part].double()
        if conv.bias is not None:
            self.mean = self.mean - conv.bias.double()
        var = norm.running_var[part].double()
        self.scale = norm.weight[part].double() / (var + norm.eps).sqrt()
        self.spread = self.scale * var.sqrt()
        self.scaled_kernel = self.scale[:, None] * self.kernel
