"""Per-sample gradient statistics by differentiating the whole model."""
from collections.abc import Callable, Mapping

import torch
from torch import Tensor, nn
from torch.func import functional_call, vjp

from .layer_sums import Statistic, chunks

Forward = Callable[[nn.Module, Tensor], Tensor]


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
