"""What takes part in an optimiser's updates, bfloat16, and a schedule."""
from collections.abc import Mapping
from contextlib import contextmanager

import torch
from mmengine.optim import OptimWrapper, OptimWrapperDict, PolyLR
from torch import Tensor, nn
from torch.optim import Optimizer

from mmseg_spwc.consolidation import GradientUpdate
from mmseg_spwc.errors import ConfigError
from mmseg_spwc.registry import OPTIM_WRAPPERS, PARAM_SCHEDULERS

from .sharded_model import ShardedModel


@PARAM_SCHEDULERS.register_module()
class PolynomialLR(PolyLR):
    """The published schedule: ``lr (1 - i/N)^power`` in iteration i of N.

    MMEngine's ``PolyLR`` has N - 1 in place of N, so that the last iteration
    trains at rate 0. The arguments are the same.
    """

    def __init__(self, *args, **kwargs) -> None:
        super().__init__(*args, **kwargs)
        self.total_iters += 1


class Consolidated:
    """Lets a penalty and an observer take part in every update.

    ::

        gradients of the loss, accumulated, reduced over ranks, unscaled
        observer.before_update(params)
        update.before_update(params)    # may add the penalty's gradient
        clipping, optimiser step
        update.after_update(params)     # may pull towards the centre
        observer.after_update(params)

    They are hooks of the optimiser's own step, so they act once per update
    whatever ``accumulative_counts`` is, and not when a loss scaler skips it.
    MMEngine clips before that step: here it is done inside, after the penalty.
    """

    def __init__(self, optim_wrapper: OptimWrapper) -> None:
        self.optimizer = optim_wrapper.optimizer
        self._params: Mapping[str, Tensor] = {}
        self._observer = self._update = None
        self._acting: list = []
        self._clip = optim_wrapper.clip_grad_kwargs and \
            optim_wrapper._clip_grad
        optim_wrapper._clip_grad = lambda: None
        self.optimizer.register_step_pre_hook(self._before)
        self.optimizer.register_step_post_hook(self._after)

    def observe(self, params: Mapping[str, Tensor], observer) -> None:
        """Call ``before_update`` and ``after_update`` of an observer, which
        see the loss's gradients and the change made.
        """
        self._params = params
        self._observer = observer

    def hold(self, params: Mapping[str, Tensor],
             update: GradientUpdate) -> None:
        """Let a penalty act, in place of an earlier one."""
        self._params = params
        self._update = update

    def _before(self, optimizer: Optimizer, args: tuple,
                kwargs: dict) -> None:
        usable = _unscale(optimizer)
        self._acting = [
            part for part in (self._observer, self._update)
            if part is not None and usable
        ]
        for part in self._acting:
            part.before_update(self._params)
        if self._clip:
            self._clip()

    def _after(self, optimizer: Optimizer, args: tuple, kwargs: dict) -> None:
        for part in reversed(self._acting):
            part.after_update(self._params)


def consolidated(runner) -> Consolidated:
    """Let others take part in the updates of a runner, all by one object."""
    wrapper = runner.optim_wrapper
    if not isinstance(wrapper, OptimWrapper) or \
            isinstance(wrapper, OptimWrapperDict):
        raise ConfigError(
            f'A {type(wrapper).__name__} cannot consolidate: use a single '
            'optimizer in optim_wrapper.')
    if isinstance(runner.model, ShardedModel):
        raise ConfigError(
            'A method that penalises or projects weights needs them whole: '
            'leave model_wrapper_cfg out, or choose a method without '
            'consolidation.')
    if not hasattr(wrapper, 'consolidated'):
        wrapper.consolidated = Consolidated(wrapper)
    return wrapper.consolidated


def _unscale(optimizer: Optimizer) -> bool:
    """Do what a loss scaler leaves to a fused optimiser; return whether the
    gradients are finite, as far as the scaler knows.
    """
    scale = getattr(optimizer, 'grad_scale', None)
    if scale is not None:
        torch._foreach_div_(
            [p.grad for group in optimizer.param_groups
             for p in group['params'] if p.grad is not None], scale.item())
        optimizer.grad_scale = None
    overflow = getattr(optimizer, 'found_inf', None)
    return overflow is None or not overflow.item()


@OPTIM_WRAPPERS.register_module()
class CpuAmpOptimWrapper(OptimWrapper):
    """Runs the forward pass in bfloat16 on the CPU.

    MMEngine's ``AmpOptimWrapper`` needs an accelerator. bfloat16 has the
    range of float32, so no loss scaling is needed.
    """

    @contextmanager
    def optim_context(self, model: nn.Module):
        with super().optim_context(model), torch.autocast(
                'cpu', dtype=torch.bfloat16):
            yield
