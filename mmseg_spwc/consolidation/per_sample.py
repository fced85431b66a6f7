"""Per-sample gradient statistics of a whole model, a batch at a time."""
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from operator import setitem
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import vmap

from .gradient_sums import (
    SQUARE,
    Caller,
    Forward,
    Statistic,
    fits,
    layer_sums,
    model_sums,
    one_by_one,
)

# relative error of the probe that still counts as agreement; a wrong layout
# or a second use of a parameter is off by about its own size
PROBE_TOLERANCE = 1e-2

Sums = dict[str, Tensor]


class Tape:
    """Records layers while they run forward, and again while backward.

    Attributes:
        root: A zero added to the output of layers whose input needs no
            gradient. Differentiating by it runs through all layers, without
            computing their parameter gradients.
        inputs: Input by layer name.
        deltas: Gradient at the output by layer name, of the last backward.
        calls: How often each layer ran.
    """

    def __init__(self, device: torch.device) -> None:
        self.root = torch.zeros((), device=device, requires_grad=True)
        self.inputs: dict[str, Tensor] = {}
        self.deltas: dict[str, Tensor] = {}
        self.calls: Counter[str] = Counter()

    @contextmanager
    def record(self, layers: dict[str, nn.Module]) -> Iterator[None]:
        """Listen to ``layers`` as long as the context lasts."""
        handles = [
            layer.register_forward_hook(partial(self._catch, name))
            for name, layer in layers.items()
        ]
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()

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


class PerSampleGradients:
    """Sums over samples of a statistic of every parameter's gradient.

    One forward and one backward pass give the input and the output gradient
    of every layer, from which :func:`layer_sums` takes the statistics. What
    this does not cover (parameters shared, used twice or outside their own
    layer) is found by a probe and left to :func:`model_sums`.

    Args:
        model: Any module, in evaluation mode, whose samples do not interact.
        forward: Called with the model and the inputs; returns the outputs,
            samples first.
        stat: ``SQUARE`` or ``ABSOLUTE``.
    """

    def __init__(self, model: nn.Module, forward: Forward,
                 stat: Statistic) -> None:
        self.model = model
        self.stat = stat
        self.params = {
            n: p for n, p in model.named_parameters() if p.requires_grad
        }
        if not self.params:
            raise ValueError('the model has no parameter that requires grad')
        self._caller = Caller(model, forward)
        self._device = next(iter(self.params.values())).device
        self._layers: dict[str, nn.Module] = {}  # read from the tape
        self._rest: dict[str, Tensor] = {}  # left to the whole model
        self._map = vmap
        self._probed = 0  # samples in the probe

    def sums(self, inputs: Tensor,
             cotangents: Callable[[Tensor], Iterable[Tensor]]) -> Sums:
        """Process one batch.

        Args:
            inputs: What ``forward`` takes, for some samples.
            cotangents: Turns the outputs into gradients at the outputs; each
                of them contributes to the sums.

        Returns:
            dict: Sums over the samples by parameter name.
        """
        # one sample alone cannot show where a layer keeps its samples
        if self._probed < min(len(inputs), 2):
            self._plan(inputs[:2])
        sums = {n: torch.zeros_like(p) for n, p in self.params.items()}
        tape = Tape(self._device)
        # every graph then starts at the root, see Tape
        with constant(self._rest), tape.record(self._layers):
            outputs = self._caller(inputs)
        for cotangent in cotangents(outputs.detach()):
            for name, value in self._tape_terms(tape, outputs, cotangent):
                sums[name] += value
            for name, value in self._rest_sums(inputs, cotangent).items():
                sums[name] += value
        return sums

    def _tape_terms(self, tape: Tape, outputs: Tensor,
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
        with constant(self.params):
            return model_sums(self._caller, self._rest, inputs, cotangent,
                              self.stat, self._map)

    def _layer_sums(self, name: str, tape: Tape, batch: int,
                    stat: Statistic) -> Sums:
        layer = self.model.get_submodule(name)
        sums = layer_sums(layer, tape.inputs[name], tape.deltas[name], batch,
                          stat)
        prefix = f'{name}.' if name else ''
        return {
            prefix + own: value for own, value in sums.items()
            if prefix + own in self.params
        }

    def _plan(self, inputs: Tensor) -> None:
        """Find the parameters whose statistics can be read from a tape.

        The probe differentiates the first sample only, so its sum of squares
        over samples must equal the square of the plain gradient. It does not
        if a layer runs twice, shares a parameter, or keeps its samples
        elsewhere than in front.
        """
        self._probed = len(inputs)
        layers, tape = self._candidates(), Tape(self._device)
        with tape.record(layers):
            outputs = self._caller(inputs)
        cotangent = torch.zeros_like(outputs)
        cotangent[0] = torch.randn_like(outputs[0])
        grads = torch.autograd.grad(
            outputs,
            list(self.params.values()),
            cotangent,
            allow_unused=True)
        expected = {
            name: grad.square()
            for name, grad in zip(self.params, grads, strict=True)
            if grad is not None
        }
        read = {
            name: set(self._readable(name, tape, len(inputs), expected))
            for name in layers
        }
        self._layers = {n: layers[n] for n, names in read.items() if names}
        covered = set().union(*read.values())
        self._rest = {n: self.params[n] for n in expected if n not in covered}
        self._choose_map(inputs, cotangent)

    def _candidates(self) -> dict[str, nn.Module]:
        """Layers without submodules, with parameters of their own."""
        modules = dict(self.model.named_modules())
        owners = Counter(
            id(p) for module in modules.values()
            for p in module._parameters.values())
        return {
            name: module for name, module in modules.items()
            if not list(module.children()) and all(
                owners[id(p)] == 1 for p in module.parameters()) and any(
                    p.requires_grad for p in module.parameters())
        }

    def _readable(self, name: str, tape: Tape, batch: int,
                  expected: Sums) -> Iterable[str]:
        """The layer's parameters if the tape explains them all, or none."""
        layer = self.model.get_submodule(name)
        if tape.calls[name] != 1 or name not in tape.deltas or not fits(
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

    def _choose_map(self, inputs: Tensor, cotangent: Tensor) -> None:
        self._map = vmap
        try:
            self._rest_sums(inputs, cotangent)
        except RuntimeError as error:
            warnings.warn(
                f'the per-sample gradients of {list(self._rest)} are taken '
                f'one by one, which is slow: {error}',
                stacklevel=2)
            self._map = one_by_one


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
