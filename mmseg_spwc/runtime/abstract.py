"""A device that computes nothing: shapes, devices and memory of an iteration.

Tensors are made on torch's ``meta`` device under a ``FakeTensorMode``: every
operation is checked as on a GPU (two devices in one operation are refused, and
so is reading a number out of a tensor, for which a GPU would have to be waited
for), and storages are counted as they come and go. Nothing is computed, so a
network at full size takes seconds and no memory.
"""
import contextlib
import functools
import weakref
from collections import Counter
from collections.abc import Callable, Iterator

import torch
from packaging.version import Version
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn import functional
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map_only

from mmseg_spwc.errors import ConfigError

FLOOR = Version('2.6')
DEVICE = 'meta'
BLOCK = 512  # bytes; CUDA's allocator rounds up to it
# what CUDA's autocast runs in half precision, of that which networks call
HALVED = {torch.conv2d, functional.linear, torch.matmul, Tensor.matmul,
          Tensor.__matmul__, torch.bmm, torch.einsum}


@contextlib.contextmanager
def abstract_device(half: torch.dtype | None = None) -> Iterator['Memory']:
    """Let a block compute on the abstract device, and count its storages.

    ``half`` is the precision of what autocast runs in half precision on a GPU.
    """
    if Version(torch.__version__) < FLOOR:
        raise ConfigError(
            f'This needs torch {FLOOR}, whose fake tensors know more '
            f'operations, and this is {torch.__version__}: update torch.')
    autocast, precision = torch.autocast, _HalfPrecision(half)

    def for_abstract(device_type: str, *args, enabled: bool = True, **kwargs):
        if device_type == DEVICE:
            return precision.switched(enabled)
        return autocast(device_type, *args, enabled=enabled, **kwargs)

    torch.autocast = for_abstract
    try:
        with _mode(), Memory() as memory, precision:
            yield memory
    finally:
        torch.autocast = autocast


@functools.cache
def _mode() -> FakeTensorMode:
    """One for the process: what is cached, as matrices are, stays in it."""
    return FakeTensorMode(allow_non_fake_inputs=True)


def to_abstract(module: nn.Module) -> nn.Module:
    """Replace parameters and buffers, in place, by those of the device.

    Inside :func:`abstract_device`; the module may be on any device.
    """
    made: dict[int, Tensor] = {}

    def twin(tensor: Tensor) -> Tensor:
        if id(tensor) not in made:
            new = torch.empty_strided(tensor.shape, tensor.stride(),
                                      dtype=tensor.dtype, device=DEVICE)
            made[id(tensor)] = nn.Parameter(new, tensor.requires_grad) \
                if isinstance(tensor, nn.Parameter) else new
        return made[id(tensor)]

    for part in module.modules():
        for tensors in (part._parameters, part._buffers):
            tensors.update({name: twin(tensor) for name, tensor in
                            tensors.items() if tensor is not None})
    return module


class Memory(TorchDispatchMode):
    """Counts the bytes of live storages, by the part that made them: those
    that are ``live``, and those when their sum was at its ``peak``.
    """

    def __init__(self) -> None:
        super().__init__()
        self.live: Counter = Counter()
        self.peak: Counter = Counter()
        self._part = 'activations'
        self._known: set[int] = set()

    @contextlib.contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Count what a block makes under a name."""
        outer, self._part = self._part, name
        try:
            yield
        finally:
            self._part = outer

    def counts(self, name: str, function: Callable) -> Callable:
        """Let all calls of a function be counted under a name."""

        def counted(*args, **kwargs):
            with self.part(name):
                return function(*args, **kwargs)

        return counted

    def start_anew(self) -> None:
        """Forget the peak so far."""
        self.peak = Counter(self.live)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        for tensor in tree_flatten(result)[0]:
            if isinstance(tensor, Tensor) and tensor.device.type == DEVICE:
                self._add(tensor.untyped_storage())
        return result

    def _add(self, storage: torch.UntypedStorage) -> None:
        key, size = storage._cdata, -(-storage.nbytes() // BLOCK) * BLOCK
        if key in self._known:
            return
        self._known.add(key)
        self.live[self._part] += size
        weakref.finalize(storage, self._remove, key, self._part, size)
        if self.live.total() > self.peak.total():
            self.peak = Counter(self.live)

    def _remove(self, key: int, part: str, size: int) -> None:
        self._known.discard(key)
        self.live[part] -= size


class _HalfPrecision(TorchFunctionMode):
    """Autocast for a device that torch's own does not know."""

    def __init__(self, dtype: torch.dtype | None) -> None:
        super().__init__()
        self.dtype = dtype
        self.enabled = False
        self._weights: dict[int, Tensor] = {}  # kept until the end of a pass

    @contextlib.contextmanager
    def switched(self, enabled: bool) -> Iterator[None]:
        outer, self.enabled = self.enabled, enabled and self.dtype is not None
        try:
            yield
        finally:
            self.enabled = outer
            if not outer and enabled:
                self._weights.clear()

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func is Tensor.backward:
            # torch's own would not let this mode see what is run again
            with self:
                return torch.autograd.Variable._execution_engine.run_backward(
                    (args[0], ), (torch.ones_like(args[0]), ), False, False,
                    (), allow_unreachable=True, accumulate_grad=True)
        if self.enabled and func in HALVED:
            args, kwargs = tree_map_only(Tensor, self._halved,
                                         (tuple(args), kwargs))
        return func(*args, **kwargs)

    def _halved(self, tensor: Tensor) -> Tensor:
        if tensor.dtype != torch.float32:
            return tensor
        if not (tensor.is_leaf and tensor.requires_grad):
            return tensor.to(self.dtype)
        if id(tensor) not in self._weights:
            self._weights[id(tensor)] = tensor.to(self.dtype)
        return self._weights[id(tensor)]
