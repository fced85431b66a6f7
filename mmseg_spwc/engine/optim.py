"""Optimiser wrappers, with a penalty or in bfloat16, and a schedule."""
from collections.abc import Mapping
from contextlib import contextmanager

import torch
from mmengine.optim import AmpOptimWrapper, OptimWrapper, PolyLR
from torch import Tensor, nn

from mmseg_spwc.consolidation import GradientUpdate
from mmseg_spwc.registry import OPTIM_WRAPPERS, PARAM_SCHEDULERS


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
    """Lets a penalty and an observer take part in every optimiser step.

    ::

        gradients of the loss, accumulated, reduced over ranks, unscaled
        observer.before_update(params)
        update.before_update(params)    # may add the penalty's gradient
        clipping, optimiser step
        update.after_update(params)     # may pull towards the centre
        observer.after_update(params)

    MMEngine calls ``step`` once all gradients are accumulated, so the penalty
    counts once per update whatever ``accumulative_counts`` is.
    """

    _params: Mapping[str, Tensor] = {}
    _observer = None
    _update = None

    def observe(self, params: Mapping[str, Tensor], observer) -> None:
        """Call ``before_update`` and ``after_update`` of an observer.

        Args:
            params (Mapping[str, Tensor]): What both are called with.
            observer: Sees the loss's gradients and the change made.
        """
        self._params = params
        self._observer = observer

    def hold(self, params: Mapping[str, Tensor],
             update: GradientUpdate) -> None:
        """Let a penalty act, in place of an earlier one.

        Args:
            params (Mapping[str, Tensor]): The model's parameters by name.
            update (GradientUpdate): The penalty's way to enter an update,
                or another way with the same methods.
        """
        self._params = params
        self._update = update

    def step(self, **kwargs) -> None:
        usable = self._unscale()
        parts = [
            part for part in (self._observer, self._update)
            if part is not None and usable
        ]
        for part in parts:
            part.before_update(self._params)
        self._step_unscaled(**kwargs)
        for part in reversed(parts):
            part.after_update(self._params)

    def _unscale(self) -> bool:
        """Give gradients their true size; False if they overflowed."""
        return True

    def _step_unscaled(self, **kwargs) -> None:
        super().step(**kwargs)


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


@OPTIM_WRAPPERS.register_module()
class ConsolidatedOptimWrapper(Consolidated, OptimWrapper):
    """``OptimWrapper`` with a penalty, see :class:`Consolidated`."""


@OPTIM_WRAPPERS.register_module()
class ConsolidatedCpuAmpOptimWrapper(Consolidated, CpuAmpOptimWrapper):
    """``CpuAmpOptimWrapper`` with a penalty, see :class:`Consolidated`."""


@OPTIM_WRAPPERS.register_module()
class ConsolidatedAmpOptimWrapper(Consolidated, AmpOptimWrapper):
    """``AmpOptimWrapper`` with a penalty, see :class:`Consolidated`.

    Gradients are unscaled first, so the penalty enters at its true size. In
    an iteration whose gradients overflowed the scaler skips the step, and so
    do penalty and observer.
    """

    def _unscale(self) -> bool:
        self.loss_scaler.unscale_(self.optimizer)
        grads = [
            param.grad for group in self.optimizer.param_groups
            for param in group['params'] if param.grad is not None
        ]
        norms = torch._foreach_norm(grads)
        return bool(torch.stack(norms).isfinite().all())

    def _step_unscaled(self, **kwargs) -> None:
        # the parent's step would unscale a second time before clipping
        if self.clip_grad_kwargs:
            self._clip_grad()
        self.loss_scaler.step(self.optimizer, **kwargs)
        self.loss_scaler.update(self._scale_update_param)
