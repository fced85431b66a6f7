"""Stops at the first loss or gradient that is not a finite number."""
import torch
from mmengine.dist import all_gather_object, all_reduce
from mmengine.hooks import Hook
from torch import Tensor

from mmseg_spwc.registry import HOOKS

from ..non_finite import bad_gradients, bad_losses, explain
from ..stops import NonFiniteError
from .step_transition_hook import unwrap


@HOOKS.register_module()
class FiniteGuardHook(Hook):
    """Names what is NaN or infinite, before it spoils the weights.

    The norm of the gradient is looked at just before the optimiser uses it,
    which costs one number read back from the device; the losses are looked
    at where MMEngine reads them for its log anyway. If one is not finite,
    the batch is put through the network once more to find the layer where
    it began, and the run ends with exit code 3. Checkpoints written before
    are kept.

    With a loss scaler (mixed precision on a GPU) gradients overflow now and
    then by design and such steps are skipped, so only losses are looked at.
    """

    # before anything that logs or stores the iteration
    priority = 'VERY_HIGH'

    def __init__(self) -> None:
        self._model: torch.nn.Module | None = None
        self._inputs: tuple | None = None
        self._handles: list = []
        self._where = ''

    def before_train(self, runner) -> None:
        self._model = unwrap(runner.model)
        self._handles = [self._model.register_forward_pre_hook(
            self._keep_inputs, with_kwargs=True)]
        if not _has_scaler(runner.optim_wrapper):
            self._handles.append(
                runner.optim_wrapper.optimizer.register_step_pre_hook(
                    self._check_gradients))

    def before_train_iter(self, runner, batch_idx, data_batch=None) -> None:
        self._where = f'iteration {runner.iter + 1}'

    def after_train_iter(self, runner, batch_idx, data_batch=None,
                         outputs=None) -> None:
        losses = {name: value for name, value in (outputs or {}).items()
                  if isinstance(value, Tensor) and 'loss' in name}
        flag = torch.tensor([bool(bad_losses(losses))], dtype=torch.int32)
        all_reduce(flag, op='max')
        if flag.item():
            self._stop('The loss', bad_losses(losses))
        self._inputs = None

    def after_train(self, runner) -> None:
        for handle in self._handles:
            handle.remove()
        self._inputs = None

    def _keep_inputs(self, module, args: tuple, kwargs: dict) -> None:
        if kwargs.get('mode') == 'loss':
            self._inputs = (args, kwargs)

    def _check_gradients(self, optimizer, args, kwargs) -> None:
        gradients = [p.grad for group in optimizer.param_groups
                     for p in group['params'] if p.grad is not None]
        if gradients and not torch.stack(
                torch._foreach_norm(gradients)).isfinite().all():
            self._stop('The gradient', bad_gradients(self._model))

    def _stop(self, what: str, names: list[str]) -> None:
        """Every rank comes here, as gradients are shared before they act."""
        told = explain(self._model, self._inputs, names)
        every = [text for text in all_gather_object(told) if text]
        raise NonFiniteError(
            f'{what} is not finite in {self._where}. '
            + ' '.join(dict.fromkeys(every))
            + ' The last checkpoint is kept; lower the learning rate, clip '
            'the gradient or mend the data, then go on with --resume.')


def _has_scaler(optim_wrapper) -> bool:
    scaler = getattr(optim_wrapper, 'loss_scaler', None)
    return scaler is not None and scaler.is_enabled()
