r"""Sums over samples of a statistic of parameter gradients.

One forward and one backward pass give the input :math:`a` of every layer and
the gradient :math:`\delta` at its output; one sample's weight gradient is
:math:`g_i = \delta_i a_i^\top`. Square and absolute value go through products,
so :math:`\sum_i g_i^2 = (\delta^2)^\top a^2` needs no per-sample gradient when
a sample is a vector. What is in no such layer is differentiated as a whole
(:func:`func_sums`).
"""
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from operator import setitem
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.func import functional_call, vjp, vmap

# numbers held at once for per-sample gradients, 128 MB in float32
BUDGET = 2**25
# the same for sums that are quicker while they fit a processor's cache
CACHE = 2**21
# relative error of the probe that still counts as agreement; a wrong layout
# or a second use of a parameter is off by about its own size
PROBE_TOLERANCE = 1e-2

Forward = Callable[[nn.Module, Tensor], Tensor]
Sums = dict[str, Tensor]


@dataclass(frozen=True)
class Statistic:
    """A function of gradients with f(xy) = f(x)f(y), and its running sum."""
    of: Callable[[Tensor], Tensor]
    add_: Callable[[Tensor, Tensor], Tensor]  # (total, gradient)


SQUARE = Statistic(torch.square, lambda total, g: total.addcmul_(g, g))
ABSOLUTE = Statistic(torch.abs, lambda total, g: total.add_(g.abs()))


class PerSampleGradients:
    """Sums over samples of a statistic of every parameter's gradient.

    What the layers' closed forms do not cover (parameters shared, used twice
    or outside their own layer) is found by a probe and left to
    :func:`func_sums` of the whole model.
    """

    def __init__(self, model: nn.Module, forward: Forward,
                 stat: Statistic) -> None:
        self.model = model
        self.stat = stat
        self.params = {n: p for n, p in model.named_parameters()
                       if p.requires_grad}
        if not self.params:
            raise ValueError('the model has no parameter that requires grad')
        self._caller = _Caller(model, forward)
        self._layers: dict[str, nn.Module] = {}  # read from the tape
        self._rest: Sums = {}  # left to the whole model
        self._map = vmap
        self._probed = 0  # samples in the probe

    def sums(self, inputs: Tensor,
             cotangents: Callable[[Tensor], Iterable[Tensor]]) -> Sums:
        """Process one batch; every cotangent at the outputs adds its part."""
        # one sample alone cannot show where a layer keeps its samples
        if self._probed < min(len(inputs), 2):
            self._plan(inputs[:2])
        sums = {n: torch.zeros_like(p) for n, p in self.params.items()}
        tape = _Tape(self.params)
        # every graph then starts at the root, see _Tape
        with constant(self._rest), tape.record(self._layers):
            outputs = self._caller(inputs)
        for cotangent in cotangents(outputs.detach()):
            for name, value in self._tape_terms(tape, outputs, cotangent):
                sums[name] += value
            for name, value in self._rest_sums(inputs, cotangent).items():
                sums[name] += value
        return sums

    def _tape_terms(self, tape: '_Tape', outputs: Tensor,
                    cotangent: Tensor) -> Iterator[tuple[str, Tensor]]:
        if self._layers:
            torch.autograd.grad(
                outputs, tape.root, cotangent, retain_graph=True)
        for name in self._layers:
            if tape.calls[name] != 1 or name not in tape.deltas:
                raise RuntimeError(
                    f'layer {name!r} ran {tape.calls[name]} times, but once '
                    'for the first samples; the per-sample gradients of a '
                    'model that changes cannot be taken in batches')
            yield from self._layer_sums(name, tape, len(outputs),
                                        self.stat).items()

    def _rest_sums(self, inputs: Tensor, cotangent: Tensor) -> Sums:
        if not self._rest:
            return {}
        point = {f'model.{name}': p for name, p in self._rest.items()}
        with constant(self.params):
            sums = func_sums(self._caller, point, inputs, cotangent,
                             self.stat, self._map)
        return {n.removeprefix('model.'): value for n, value in sums.items()}

    def _layer_sums(self, name: str, tape: '_Tape', batch: int,
                    stat: Statistic) -> Sums:
        layer = self.model.get_submodule(name)
        # a subclass may compute something else, so the exact type decides
        sums = CLOSED_FORMS.get(type(layer), any_layer_sums)(
            layer, tape.inputs[name], tape.deltas[name], batch, stat)
        prefix = f'{name}.' if name else ''
        return {prefix + own: value for own, value in sums.items()
                if prefix + own in self.params}

    def _plan(self, inputs: Tensor) -> None:
        """Find the parameters whose statistics can be read from a tape.

        The probe differentiates the first sample only, so its sum of squares
        over samples must equal the square of the plain gradient. It does not
        if a layer runs twice, shares a parameter, or keeps its samples
        elsewhere than in front.
        """
        self._probed = len(inputs)
        layers, tape = self._candidates(), _Tape(self.params)
        with tape.record(layers):
            outputs = self._caller(inputs)
        cotangent = torch.zeros_like(outputs)
        cotangent[0] = torch.randn_like(outputs[0])
        grads = torch.autograd.grad(
            outputs, list(self.params.values()), cotangent,
            allow_unused=True)
        expected = {name: grad.square()
                    for name, grad in zip(self.params, grads, strict=True)
                    if grad is not None}
        read = {name: set(self._readable(name, tape, len(inputs), expected))
                for name in layers}
        self._layers = {n: layers[n] for n, names in read.items() if names}
        covered = set().union(*read.values())
        self._rest = {n: self.params[n] for n in expected if n not in covered}
        self._map = vmap
        try:
            self._rest_sums(inputs, cotangent)
        except RuntimeError as error:
            warnings.warn(
                f'the per-sample gradients of {list(self._rest)} are taken '
                f'one by one, which is slow: {error}',
                stacklevel=2)
            self._map = one_by_one

    def _candidates(self) -> dict[str, nn.Module]:
        """Layers without submodules, with parameters of their own."""
        modules = dict(self.model.named_modules())
        owners = Counter(
            id(p) for module in modules.values()
            for p in module._parameters.values())
        return {name: module for name, module in modules.items()
                if not list(module.children()) and all(
                    owners[id(p)] == 1 for p in module.parameters()) and any(
                        p.requires_grad for p in module.parameters())}

    def _readable(self, name: str, tape: '_Tape', batch: int,
                  expected: Sums) -> Iterable[str]:
        """The layer's parameters if the tape explains them all, or none."""
        layer = self.model.get_submodule(name)
        if tape.calls[name] != 1 or name not in tape.deltas or not _fits(
                layer, tape.inputs[name], tape.deltas[name], batch):
            return ()
        try:
            sums = self._layer_sums(name, tape, batch, SQUARE)
        except RuntimeError:  # an operation that cannot be vectorised
            return ()
        trained = sum(p.requires_grad for p in layer.parameters())
        agree = len(sums) == trained and all(
            _close(value, expected.get(full)) for full, value in sums.items())
        return sums if agree else ()


class _Tape:
    """Inputs of layers, and gradients at their outputs (``deltas``).

    Differentiating by ``root``, a zero added to the output of layers whose
    input needs no gradient, runs through all layers without computing their
    parameter gradients.
    """

    def __init__(self, params: Mapping[str, Tensor]) -> None:
        device = next(iter(params.values())).device
        self.root = torch.zeros((), device=device, requires_grad=True)
        self.inputs: Sums = {}
        self.deltas: Sums = {}  # of the last backward pass
        self.calls: Counter[str] = Counter()

    @contextmanager
    def record(self, layers: Mapping[str, nn.Module]) -> Iterator[None]:
        with ExitStack() as hooks:
            for name, layer in layers.items():
                hooks.enter_context(layer.register_forward_hook(
                    partial(self._catch, name)))
            yield

    def _catch(self, name: str, layer: nn.Module, args: tuple,
               output: Any) -> Tensor | None:
        self.calls[name] += 1
        if len(args) != 1 or not isinstance(output, Tensor):
            return None
        if not args[0].requires_grad:
            output = output + self.root
        self.inputs[name] = args[0].detach()
        # registered now, it sees the gradient before an in-place activation
        output.register_hook(partial(setitem, self.deltas, name))
        return output


class _Caller(nn.Module):
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


def chunks(batch: int, numel: int, budget: int = BUDGET) -> Iterator[slice]:
    """Slices of the batch that keep ``numel`` numbers per sample in budget."""
    size = max(1, budget // max(numel, 1))
    for start in range(0, batch, size):
        yield slice(start, min(start + size, batch))


def linear_sums(layer: nn.Linear, a: Tensor, delta: Tensor, batch: int,
                stat: Statistic) -> Sums:
    """Closed form for ``nn.Linear`` on vectors or on any number of tokens."""
    a = a.reshape(batch, -1, layer.in_features)  # (B, L, I)
    delta = delta.reshape(batch, -1, layer.out_features)  # (B, L, O)
    if a.shape[1] == 1:
        weight = stat.of(delta[:, 0]).mT @ stat.of(a[:, 0])
    else:
        weight = torch.zeros_like(layer.weight)
        for part in chunks(batch, weight.numel(), _budget(a)):
            _add_outer_(weight, delta[part].mT, a[part].mT, stat)
    return dict(weight=weight, bias=stat.of(delta.sum(1)).sum(0))


def conv2d_sums(layer: nn.Conv2d, a: Tensor, delta: Tensor, batch: int,
                stat: Statistic) -> Sums:
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
        _add_outer_(weight, delta[part], patches, stat)
    return dict(weight=weight, bias=stat.of(delta.sum(-1)).sum(0).flatten())


CLOSED_FORMS = {nn.Linear: linear_sums, nn.Conv2d: conv2d_sums}


def any_layer_sums(layer: nn.Module, a: Tensor, delta: Tensor, batch: int,
                   stat: Statistic) -> Sums:
    return func_sums(layer, dict(layer.named_parameters()), a, delta, stat)


def func_sums(module: nn.Module, params: Mapping[str, Tensor], inputs: Tensor,
              cotangent: Tensor, stat: Statistic,
              mapping: Callable = vmap) -> Sums:
    """Differentiate a module by parameters, sample by sample."""
    point = {name: p.detach() for name, p in params.items()}

    def gradient(x: Tensor, u: Tensor) -> Sums:
        _, pull_back = vjp(
            lambda p: functional_call(module, p, (x.unsqueeze(0), )), point)
        return pull_back(u.unsqueeze(0))[0]

    sums = {name: torch.zeros_like(p) for name, p in point.items()}
    numel = inputs[0].numel() + sum(p.numel() for p in point.values())
    for part in chunks(len(inputs), numel):
        grads = mapping(gradient)(inputs[part], cotangent[part])
        for name, value in grads.items():
            sums[name] += stat.of(value).sum(0)
    return sums


def one_by_one(function: Callable) -> Callable:
    """Like ``vmap`` for a function of two tensors, but with a loop."""

    def looped(inputs: Tensor, cotangents: Tensor) -> Sums:
        grads = [*map(function, inputs, cotangents)]
        return {name: torch.stack([grad[name] for grad in grads])
                for name in grads[0]}

    return looped


def _add_outer_(total: Tensor, rows: Tensor, columns: Tensor,
                stat: Statistic) -> None:
    """Add the statistic of every sample's ``rows @ columns.T`` to a total,
    of rows (B, ..., O, L) and columns (B, ..., I, L)."""
    grads = rows @ columns.mT  # (B, ..., O, I)
    if len(grads) == 1:  # spares a large weight two passes over memory
        stat.add_(total, grads.reshape(total.shape))
    else:
        total += stat.of(grads).sum(0).reshape(total.shape)


def _budget(tensor: Tensor) -> int:
    return CACHE if tensor.device.type == 'cpu' else BUDGET


def _fits(layer: nn.Module, a: Tensor, delta: Tensor, batch: int) -> bool:
    """Whether the shapes tell the samples apart."""
    if type(layer) is nn.Linear:  # they may be folded into its first axis
        return a.dim() > 1 and len(a) % batch == 0
    return a.dim() > 1 and len(a) == len(delta) == batch


@contextmanager
def constant(params: Mapping[str, Tensor]) -> Iterator[None]:
    """Hide parameters from autograd for a while."""
    for param in params.values():
        param.requires_grad_(False)
    try:
        yield
    finally:
        for param in params.values():
            param.requires_grad_(True)


def _close(value: Tensor, expected: Tensor | None) -> bool:
    """Whether two sums agree; a vanishing one shows nothing."""
    if expected is None or not expected.any():
        return False
    error = (value - expected).norm()
    return bool(error <= PROBE_TOLERANCE * expected.norm())
