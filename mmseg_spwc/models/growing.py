"""Classifiers that grow by one layer with each step.

The logits of all steps are concatenated. Parameters of earlier steps keep
their names and shapes when a step is added, so a checkpoint of step t-1 loads
into the classifier of step t without surgery.
"""
import math
import re
from collections.abc import Mapping, Sequence

import torch
from mmseg.models.decode_heads.decode_head import BaseDecodeHead
from torch import Tensor, nn
from torch.nn import functional

from mmseg_spwc.errors import CheckpointError

# what one growing layer keeps for each step
_PART = re.compile(r'(.+)\.(?:convs|linears)\.(\d+)\.(weight|bias)')
OTHER_HEADS = ('Choose a head such as DeepLabV3CSSHead, ASPPHead, FCNHead or '
               'SegformerHead.')
# where MMPretrain's heads keep their last layer: LinearClsHead,
# StackedLinearClsHead, VisionTransformerClsHead
PLACES = ('fc', 'fc.fc', 'layers.head')


class _Growing(nn.Module):
    """The channels added by each step; one that adds none has no layer."""

    policies: tuple[str, ...] = ()
    layers: str  # the attribute that holds one for each step

    def __init__(self, channels: Sequence[int]) -> None:
        super().__init__()
        self.channels = tuple(channels)
        if min(self.channels, default=-1) < 0 or self.channels[0] < 1:
            raise ValueError(
                'channels must hold the channels added by each step, at '
                'least one in the first and none negative, but got '
                f'{self.channels}.')

    def _adds_to_old(self, policy: str) -> bool:
        if policy not in self.policies:
            raise ValueError(f'Unknown initialisation policy {policy!r}: '
                             f'choose one of {sorted(self.policies)}.')
        return len(self.channels) > 1 and self.channels[-1] > 0


class GrowingClassifier(_Growing):
    """Classifies pixels by one 1x1 convolution a step.

    Args:
        in_channels (int): Channels of the features.
        channels (Sequence[int]): Channels added by each step.
        ahead (Sequence[int]): Those that later steps will add.
        extra (bool): Whether there is a row beside them that is carried on
            and is no class: losses may train it, and new classes start from
            it. Defaults to False.
        zero_background (bool): Whether the background's logit starts as 0,
            where losses that leave it out keep it: classes are then compared
            with a probability of 1/2. Defaults to False.
        unknown (bool): Whether the extra row is there and gives the last
            logit, that of objects without a class. Defaults to False.
        hidden (bool): Whether each step's rows, and the extra one, read a 3x3
            convolution, batch norm and ReLU of their own. Defaults to False.
    """

    policies = ('default', 'background', 'balanced', 'share', 'index', 'zero',
                'extra')
    layers = 'convs'

    def __init__(self, in_channels: int, channels: Sequence[int],
                 ahead: Sequence[int] = (), extra: bool = False,
                 zero_background: bool = False, unknown: bool = False,
                 hidden: bool = False) -> None:
        super().__init__(channels)
        self.in_channels = in_channels
        self.out_channels = sum(self.channels) + sum(ahead) + unknown
        self.unknown = unknown
        self.hidden = hidden
        self.convs = nn.ModuleList(
            self._rows(added) for added in (*self.channels, *ahead) if added)
        self.extra = self._rows(1) if extra or unknown else None
        for part in self._channel(0) if zero_background else ():
            part.detach().zero_()

    def _rows(self, number: int) -> nn.Module:
        rows, width = nn.Conv2d(self.in_channels, number, 1), self.in_channels
        if not self.hidden:
            return rows
        return nn.Sequential(
            nn.Conv2d(width, width, 3, padding=1, bias=False),
            nn.BatchNorm2d(width), nn.ReLU(), rows)

    @property
    def weight(self) -> Tensor:
        """Weights of all channels, (C, in_channels, 1, 1)."""
        return torch.cat([_last(conv).weight for conv in self.convs])

    def forward(self, x: Tensor) -> Tensor:
        """Map features (B, in_channels, H, W) to (B, out_channels, H, W)."""
        layers = [*self.convs, self.extra] if self.unknown else self.convs
        return torch.cat([layer(x) for layer in layers], dim=1)

    @torch.no_grad()
    def initialise_new(self, policy: str, background: int = 0,
                       share: float | None = None) -> None:
        """Initialise the channels of the last step from the background.

        Call it once, after the earlier steps' weights are loaded.

        - ``'default'`` keeps torch's initialisation;
        - ``'background'`` copies the background's weight and leaves all
          biases (published RCIL);
        - ``'balanced'`` shares the background's probability out evenly
          (MiB): the new channels get w_bg and b_bg - log(C_new + 1), and
          b_bg is lowered by the same;
        - ``'share'`` gives the new channels together the part ``share`` of
          the background's probability, and equals ``'balanced'`` for
          C_new / (C_new + 1);
        - ``'index'`` is ``'share'`` with C_new / C, where C counts the
          channels of all steps so far, so later classes start with less;
        - ``'zero'`` sets weight and bias to 0;
        - ``'extra'`` copies the extra row, with what it reads if that is its
          own.
        """
        grows = self._adds_to_old(policy)
        _check_share(policy, share)
        if not grows:
            return
        added, num_old = self.channels[-1], sum(self.channels[:-1])
        layer = self.convs[first_new(self.channels)]
        new = _last(layer)
        if self.hidden and policy not in ('default', 'extra'):
            raise ValueError(
                f'The policy {policy!r} copies a row, but rows with hidden '
                "layers read features of their own: choose 'default' or "
                "'extra'.")
        if not 0 <= background < num_old:
            raise ValueError(
                f'The background channel {background} is not among the '
                f'{num_old} channels of earlier steps.')
        weight, bias = self._channel(background)
        if policy == 'extra':
            if self.extra is None:
                raise ValueError("The policy 'extra' needs a row to copy: set "
                                 'model.classifier.extra=True.')
            if self.hidden:
                layer[:-1].load_state_dict(self.extra[:-1].state_dict())
            weight, bias = _last(self.extra).weight, _last(self.extra).bias
            new.bias.copy_(bias.expand_as(new.bias))
        if policy == 'zero':
            new.weight.zero_()
            new.bias.zero_()
        elif policy != 'default':
            new.weight.copy_(weight.expand_as(new.weight))
        if policy == 'balanced':
            bias -= math.log(added + 1)
            new.bias.copy_(bias.expand_as(new.bias))
        if policy in ('share', 'index'):
            share = share or added / (num_old + added)
            each = bias + math.log(share / added)
            new.bias.copy_(each.expand_as(new.bias))
            bias += math.log1p(-share)

    def _channel(self, index: int) -> tuple[Tensor, Tensor]:
        """Views of one channel's weight (C, 1, 1) and bias ()."""
        for conv in map(_last, self.convs):
            if index < conv.out_channels:
                return conv.weight[index], conv.bias[index]
            index -= conv.out_channels
        raise IndexError(index)

    @torch.no_grad()
    def to_conv(self) -> nn.Conv2d:
        """Return one plain 1x1 convolution that computes the same."""
        if self.hidden or self.unknown:
            raise ValueError('Rows with hidden layers, or with one of the '
                             'unknown, are no plain 1x1 convolution.')
        like = self.convs[0].weight
        conv = nn.Conv2d(
            self.in_channels, self.out_channels, 1, device=like.device,
            dtype=like.dtype)
        conv.weight.copy_(self.weight)
        conv.bias.copy_(torch.cat([c.bias for c in self.convs]))
        return conv


class GrowingLinear(_Growing):
    """Classifies features by one linear layer a step."""

    policies = ('default', 'torch', 'zero', 'balanced')
    layers = 'linears'

    def __init__(self, in_features: int, channels: Sequence[int]) -> None:
        super().__init__(channels)
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
        """Initialise the channels of the last step, as in
        :meth:`GrowingClassifier.initialise_new`.

        - ``'default'`` keeps them as they were built: as torch draws them,
          unless the head's ``init_cfg`` says otherwise;
        - ``'torch'`` draws them anew as torch does;
        - ``'zero'`` sets weight and bias to 0;
        - ``'balanced'`` sets both to the mean of all earlier channels', so
          that a new class competes as an average old one.
        """
        if not self._adds_to_old(policy):
            return
        *old, new = self.linears
        if policy == 'torch':
            new.reset_parameters()
        for name, value in new.named_parameters():
            if policy == 'zero':
                value.zero_()
            elif policy == 'balanced':
                value.copy_(torch.cat([
                    getattr(part, name) for part in old]).mean(0).expand_as(
                        value))


def _last(layer: nn.Module) -> nn.Conv2d:
    """The rows themselves, behind their hidden layers if there are any."""
    return layer[-1] if isinstance(layer, nn.Sequential) else layer


def first_new(channels: Sequence[int]) -> int:
    """Place of the last step's layer among those of all steps."""
    return sum(added > 0 for added in channels[:-1])


def grow_head(head: nn.Module, channels: Sequence[int],
              **options) -> GrowingClassifier:
    """Give a decode head of mmseg one ``conv_seg`` for each step."""
    plain = BaseDecodeHead.loss_by_feat
    if getattr(type(head), 'loss_by_feat', plain) is not plain:
        raise TypeError(
            f'{type(head).__name__} trains more than one map, by losses of '
            f'its own that a sequence does not have. {OTHER_HEADS}')
    old = getattr(head, 'conv_seg', None)
    if old is None:
        raise TypeError(
            f'{type(head).__name__} has no conv_seg that could grow: it does '
            f'not classify pixels by a 1x1 convolution. {OTHER_HEADS}')
    head.conv_seg = GrowingClassifier(
        old.in_channels, channels, **options).to(old.weight.device)
    head.num_classes = head.out_channels = head.conv_seg.out_channels
    return head.conv_seg


def grow_linear(head: nn.Module, channels: Sequence[int]) -> GrowingLinear:
    """Give a head of MMPretrain one linear layer for each step, in place of
    its last one."""
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


def _check_share(policy: str, share: float | None) -> None:
    if (policy == 'share') != (share is not None):
        raise ValueError(
            "The policy 'share', and no other, needs the share of the "
            f'background, such as 0.05; got {policy!r} and {share!r}.')
    if share is not None and not 0 < share < 1:
        raise ValueError(f'share must lie between 0 and 1, got {share}.')


def joined_state(state: Mapping,
                 channels: Sequence[int] | None = None) -> dict:
    """Join the layers of every growing classifier into a plain one.

    ``channels`` are those to keep, in their new order; by default all.
    """
    parts, plain = {}, {}
    for key, value in state.items():
        match = _PART.fullmatch(key)
        if match:
            joined = f'{match[1]}.{match[3]}'
            parts.setdefault(joined, {})[int(match[2])] = value
        else:
            plain[key] = value
    for key, layers in parts.items():
        whole = torch.cat([layers[i] for i in sorted(layers)])
        plain[key] = whole if channels is None else \
            whole[list(channels)].clone()
    return plain


def grown_state(state: Mapping, network: nn.Module,
                order: Sequence[int | None], where: str) -> dict:
    """Deal the rows of plain classifiers, of the file ``where``, out to the
    layers of growing ones: the reverse of :func:`joined_state`.

    ``order`` has the row of every channel. None gives a channel the mean of
    all rows: its logit is never the largest.
    """
    state = dict(state)
    for name, layer in network.named_modules():
        if not isinstance(layer, _Growing):
            continue
        sizes = [size for size in layer.channels if size]
        for kind in ('weight', 'bias'):
            rows = state.pop(f'{name}.{kind}', None)
            if rows is None:
                continue  # who loads the weights says that it is missing
            known = sum(i is not None for i in order)
            if len(rows) != known:
                raise CheckpointError(
                    f'{where} has {len(rows)} channels in {name}, but {known} '
                    'classes: name one for each channel, in their order, by '
                    'start_from=dict(checkpoint=..., classes=[...]).')
            dealt = torch.stack([
                rows.mean(0) if i is None else rows[i] for i in order])
            for n, part in enumerate(dealt.split(sizes)):
                state[f'{name}.{layer.layers}.{n}.{kind}'] = part
    return state
