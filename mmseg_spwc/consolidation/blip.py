r"""BLIP (Shi et al., CVPR 2021): freeze the bits that a parameter has gained.

A parameter in :math:`[-R, R]` gains as many bits from a task as the task gave
information about it; the bits it has are kept by later tasks.
"""
import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from mmseg_spwc.utils.options import is_whole

KINDS = ('bits', 'fisher', 'anchor')  # the tensors of a BitState
MOST_BITS = torch.iinfo(torch.int8).max


@dataclass
class BitState:
    """One parameter tensor."""
    bound: float  # R
    fan_in: int
    bits: Tensor  # n, frozen bits, int8
    fisher: Tensor  # running mean of the Fisher information
    anchor: Tensor  # value that the frozen bits encode


def information_gain(fisher: Tensor, running: Tensor, task: int) -> Tensor:
    r"""Bits gained: :math:`\frac12 \log_2 \frac{F_t + (t+1)\bar F}
    {(t+2)\bar F}`, t counting from 0."""
    ratio = (fisher + (task + 1) * running) / ((task + 2) * running)
    return 0.5 * torch.log2(ratio)


def quantise(value: Tensor, bits: Tensor, bound: float) -> Tensor:
    r"""Round to :math:`R \cdot k / 2^n`; no bits means zero."""
    scale = torch.exp2(bits.to(value.dtype))
    rounded = bound * torch.round(value / bound * scale) / scale
    return torch.where(bits > 0, rounded, 0.)


def check_bits(prior: float, max_bits: int) -> None:
    """Refuse options of :class:`BLIP` that it cannot use."""
    if not prior > 0:
        raise ValueError(f'prior must be positive, got {prior}')
    if not is_whole(max_bits) or not 1 <= max_bits <= MOST_BITS:
        raise ValueError(f'max_bits is {max_bits!r}: give a whole number from '
                         f'1 to {MOST_BITS}.')


class BLIP:
    """Bit-level information preserving for linear and convolution layers.

    Give it the weights of the trunk and their biases. Call :meth:`project_`
    after every optimiser step and :meth:`consolidate_` at the end of every
    task, then evaluate.

    ``prior`` is the per-sample Fisher information before the first task, per
    input. The authors square gradients of a mean over 100 samples, which are
    1e-4 of it, so their 1e-15 is 1e-11 here.
    """

    def __init__(self, params: Mapping[str, Tensor], prior: float = 1e-11,
                 max_bits: int = 20) -> None:
        check_bits(prior, max_bits)
        self.max_bits = max_bits
        self.task = 0
        self.states = {}
        for name, param in params.items():
            fan_in, bound = _range(name, params)
            self.states[name] = BitState(
                bound, fan_in,
                bits=torch.zeros_like(param, dtype=torch.int8),
                fisher=torch.full_like(param, prior * fan_in).detach(),
                anchor=torch.zeros_like(param).detach())

    @torch.no_grad()
    def initialise_(self, params: Mapping[str, Tensor]) -> None:
        """Draw weights from N(0, 1/fan_in) within the range; biases are 0."""
        for name, param in params.items():
            state = self.states[name]
            if param.dim() > 1:
                param.normal_(0., 1 / math.sqrt(state.fan_in))
                param.clamp_(-state.bound, state.bound)
            else:
                param.zero_()

    @torch.no_grad()
    def project_(self, params: Mapping[str, Tensor]) -> None:
        r"""Clip to :math:`\theta_{prev} \pm R 2^{-n}` and to the range."""
        for name, param in params.items():
            state = self.states[name]
            window = state.bound * torch.exp2(-state.bits.to(param.dtype))
            shift = param - state.anchor
            param.copy_(state.anchor + torch.clamp(shift, -window, window))
            edge = state.bound * (1 - 2.**-self.max_bits)
            param.clamp_(-edge, edge)

    @torch.no_grad()
    def consolidate_(self, params: Mapping[str, Tensor],
                     fisher: Mapping[str, Tensor]) -> None:
        """End a task: allot bits, quantise the parameters in place by the
        task's per-sample Fisher diagonal at sampled labels, update it."""
        t = self.task
        for name, param in params.items():
            state, current = self.states[name], fisher[name]
            gain = information_gain(current, state.fisher, t)
            if not gain.isfinite().all():
                raise ValueError(
                    f'the Fisher information of {name!r} must be finite and '
                    'not negative')
            bits = state.bits + gain.ceil().clamp(0, self.max_bits)
            state.bits = bits.clamp(max=self.max_bits).to(torch.int8)
            param.copy_(quantise(param, state.bits, state.bound))
            state.anchor = param.detach().clone()
            state.fisher = ((t + 1) * state.fisher + current) / (t + 2)
        self.task += 1

    def used_capacity(self) -> float:
        """Share of all bits that are frozen."""
        used = sum(s.bits.sum().item() for s in self.states.values())
        size = sum(s.bits.numel() for s in self.states.values())
        return used / (self.max_bits * size)

    def state_dict(self) -> dict[str, Tensor]:
        """The task and ``bits|fisher|anchor.NAME``."""
        return {'task': torch.tensor(self.task)} | {
            f'{kind}.{name}': getattr(own, kind)
            for name, own in self.states.items() for kind in KINDS}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Restore what :meth:`state_dict` gave, for the same parameters."""
        self.task = int(state['task'])
        for name, own in self.states.items():
            for kind in KINDS:
                setattr(own, kind, state[f'{kind}.{name}'].clone())


def _range(name: str, params: Mapping[str, Tensor]) -> tuple[int, float]:
    """Inputs of the layer a parameter belongs to, and its bound R."""
    weight = params.get(name.removesuffix('bias') + 'weight') if name.endswith(
        'bias') else params[name]
    if weight is None or weight.dim() < 2:
        raise ValueError(
            f'{name!r} does not belong to a linear or convolution layer; '
            'give BLIP the weights and biases of such layers only')
    fan_in = weight[0].numel()
    return fan_in, 6 / math.sqrt(fan_in) if weight is params[name] else 1.
