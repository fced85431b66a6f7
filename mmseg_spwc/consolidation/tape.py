"""Input and output gradient of layers, caught during one pass."""
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from operator import setitem
from typing import Any

import torch
from torch import Tensor, nn


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
