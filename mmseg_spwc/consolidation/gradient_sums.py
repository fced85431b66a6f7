r"""Sums over samples of a statistic of parameter gradients.

Given the input :math:`a` of a layer and the gradient :math:`\delta` at its
output, one sample's weight gradient is :math:`g_i = \delta_i a_i^\top`. Since
square and absolute value go through products, :math:`\sum_i g_i^2 =
(\delta^2)^\top a^2` needs no per-sample gradient when a sample is a vector.
:func:`layer_sums` does this for one layer, :func:`model_sums` differentiates
the whole model where there is no such layer.
"""
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.func import functional_call, vjp, vmap

# numbers held at once for per-sample gradients, 128 MB in float32
BUDGET = 2**25
# the same for sums that are quicker while they fit a processor's cache
CACHE = 2**21

Forward = Callable[[nn.Module, Tensor], Tensor]


@dataclass(frozen=True)
class Statistic:
    """A function of gradients with f(xy) = f(x)f(y), and its running sum."""
    of: Callable[[Tensor], Tensor]
    add_: Callable[[Tensor, Tensor], Tensor]  # (total, gradient)


SQUARE = Statistic(torch.square, lambda total, g: total.addcmul_(g, g))
ABSOLUTE = Statistic(torch.abs, lambda total, g: total.add_(g.abs()))


def chunks(batch: int, numel: int, budget: int = BUDGET) -> Iterator[slice]:
    """Slices of the batch that keep ``numel`` numbers per sample in budget."""
    size = max(1, budget // max(numel, 1))
    for start in range(0, batch, size):
        yield slice(start, min(start + size, batch))


def add_outer_(total: Tensor, rows: Tensor, columns: Tensor,
               stat: Statistic) -> None:
    """Add the statistic of every sample's ``rows @ columns.T`` to a total.

    Args:
        total: Changed in place.
        rows: (B, ..., O, L)
        columns: (B, ..., I, L)
        stat: The statistic.
    """
    grads = rows @ columns.mT  # (B, ..., O, I)
    if len(grads) == 1:  # spares a large weight two passes over memory
        stat.add_(total, grads.reshape(total.shape))
    else:
        total += stat.of(grads).sum(0).reshape(total.shape)


def linear_sums(layer: nn.Linear, a: Tensor, delta: Tensor, batch: int,
                stat: Statistic) -> dict[str, Tensor]:
    """Closed form for ``nn.Linear`` on vectors or on any number of tokens."""
    a = a.reshape(batch, -1, layer.in_features)  # (B, L, I)
    delta = delta.reshape(batch, -1, layer.out_features)  # (B, L, O)
    if a.shape[1] == 1:
        weight = stat.of(delta[:, 0]).mT @ stat.of(a[:, 0])
    else:
        weight = torch.zeros_like(layer.weight)
        for part in chunks(batch, weight.numel(), _budget(a)):
            add_outer_(weight, delta[part].mT, a[part].mT, stat)
    return {'weight': weight, 'bias': stat.of(delta.sum(1)).sum(0)}


def conv2d_sums(layer: nn.Conv2d, a: Tensor, delta: Tensor, batch: int,
                stat: Statistic) -> dict[str, Tensor]:
    """Closed form for ``nn.Conv2d`` by unfolding its input into patches."""
    if layer.padding_mode != 'zeros' or isinstance(layer.padding, str):
        return any_layer_sums(layer, a, delta, batch, stat)
    weight, by_group = torch.zeros_like(layer.weight), (layer.groups, -1)
    delta = delta.flatten(2).unflatten(1, by_group)  # (B, G, O/G, L)
    patch = layer.groups * layer.weight[0].numel() * delta.shape[-1]
    for part in chunks(batch, patch + weight.numel(), _budget(a)):
        patches = F.unfold(a[part], layer.kernel_size, layer.dilation,
                           layer.padding, layer.stride)
        patches = patches.unflatten(1, by_group)  # (b, G, I/G*k*k, L)
        add_outer_(weight, delta[part], patches, stat)
    return {
        'weight': weight,
        'bias': stat.of(delta.sum(-1)).sum(0).flatten(),
    }


def _budget(tensor: Tensor) -> int:
    return CACHE if tensor.device.type == 'cpu' else BUDGET


def any_layer_sums(layer: nn.Module, a: Tensor, delta: Tensor, batch: int,
                   stat: Statistic) -> dict[str, Tensor]:
    """Any layer that maps one tensor to one: differentiate it per sample."""
    params = {n: p.detach() for n, p in layer.named_parameters()}

    def gradient(x: Tensor, d: Tensor) -> dict[str, Tensor]:
        _, pull_back = vjp(
            lambda p: functional_call(layer, p, (x.unsqueeze(0), )), params)
        return pull_back(d.unsqueeze(0))[0]

    sums = {n: torch.zeros_like(p) for n, p in params.items()}
    numel = sum(p.numel() for p in params.values()) + a[0].numel()
    for part in chunks(batch, numel):
        for name, grads in vmap(gradient)(a[part], delta[part]).items():
            sums[name] += stat.of(grads).sum(0)
    return sums


def fits(layer: nn.Module, a: Tensor, delta: Tensor, batch: int) -> bool:
    """Whether the shapes allow :func:`layer_sums` to find the samples."""
    if type(layer) is nn.Linear:
        return a.dim() > 1 and len(a) % batch == 0
    return a.dim() > 1 and len(a) == len(delta) == batch


CLOSED_FORMS = {nn.Linear: linear_sums, nn.Conv2d: conv2d_sums}


def layer_sums(layer: nn.Module, a: Tensor, delta: Tensor, batch: int,
               stat: Statistic) -> dict[str, Tensor]:
    """Sum ``stat`` of the per-sample gradients of a layer's parameters.

    Args:
        layer: A layer without submodules.
        a: Its input; the samples must be the leading dimension. For a linear
            layer they may be folded into it, sample by sample.
        delta: Gradient at its output.
        batch: Number of samples.
        stat: Applied to every per-sample gradient, element by element.

    Returns:
        dict: Sums by the layer's own parameter names; a closed form gives a
        ``bias`` even if the layer has none.
    """
    # a subclass may compute something else, so the exact type decides
    sums = CLOSED_FORMS.get(type(layer), any_layer_sums)
    return sums(layer, a, delta, batch, stat)


class Caller(nn.Module):
    """A model and how to call it, as one module."""

    def __init__(self, model: nn.Module, forward: Forward) -> None:
        super().__init__()
        self.model = model
        self._call = forward

    def forward(self, inputs: Tensor) -> Tensor:
        outputs = self._call(self.model, inputs)
        if not isinstance(outputs, Tensor):
            raise TypeError(
                'the model must return one tensor of logits, got '
                f'{type(outputs).__name__}; pass forward=, a function of '
                'model and inputs that returns it')
        return outputs


def one_by_one(function: Callable) -> Callable:
    """Like ``vmap`` for a function of two tensors, but with a loop."""

    def looped(inputs: Tensor, cotangents: Tensor) -> dict[str, Tensor]:
        grads = [function(*pair) for pair in zip(
            inputs, cotangents, strict=True)]
        return {
            name: torch.stack([grad[name] for grad in grads])
            for name in grads[0]
        }

    return looped


def model_sums(caller: Caller, params: Mapping[str, Tensor], inputs: Tensor,
               cotangent: Tensor, stat: Statistic,
               mapping: Callable) -> dict[str, Tensor]:
    """Sum ``stat`` of the per-sample gradients of some parameters.

    Args:
        caller: The model.
        params: The parameters by name.
        inputs: Inputs, samples first.
        cotangent: Gradient at the outputs, samples first.
        stat: Applied to every per-sample gradient, element by element.
        mapping: ``torch.func.vmap`` or :func:`one_by_one`.

    Returns:
        dict: Sums over the samples by parameter name.
    """
    point = {f'model.{name}': p.detach() for name, p in params.items()}

    def gradient(x: Tensor, u: Tensor) -> dict[str, Tensor]:
        _, pull_back = vjp(
            lambda p: functional_call(caller, p, (x.unsqueeze(0), )), point)
        return pull_back(u.unsqueeze(0))[0]

    sums = {name: torch.zeros_like(p) for name, p in params.items()}
    for part in chunks(len(inputs), sum(p.numel() for p in point.values())):
        grads = mapping(gradient)(inputs[part], cotangent[part])
        for name in sums:
            sums[name] += stat.of(grads[f'model.{name}']).sum(0)
    return sums
