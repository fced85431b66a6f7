"""Stops at the first loss or gradient that is not a finite number."""
import itertools
import math
from collections.abc import Mapping

import torch
from mmengine.dist import all_gather_object
from mmengine.hooks import Hook
from torch import Tensor, nn
from torch.utils._pytree import tree_flatten

from mmseg_spwc.errors import NonFiniteError
from mmseg_spwc.registry import HOOKS
from mmseg_spwc.utils.distributed import anywhere, unwrap


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

    def before_train_epoch(self, runner) -> None:
        """Look at gradients behind the hooks that add to them."""
        if len(self._handles) == 1 and not _has_scaler(runner.optim_wrapper):
            self._handles.append(
                runner.optim_wrapper.optimizer.register_step_pre_hook(
                    self._check_gradients))

    def before_train_iter(self, runner, batch_idx, data_batch=None) -> None:
        self._where = f'iteration {runner.iter + 1}'

    def after_train_iter(self, runner, batch_idx, data_batch=None,
                         outputs=None) -> None:
        losses = {name: value for name, value in (outputs or {}).items()
                  if isinstance(value, Tensor) and 'loss' in name}
        # MMEngine's sum is not finite if one of its terms is not
        bad = not math.isfinite(losses['loss'].item()) \
            if 'loss' in losses else bool(bad_losses(losses))
        if anywhere(bad):
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
            'the gradient or correct the data, then go on with --resume.')


def _has_scaler(optim_wrapper) -> bool:
    scaler = getattr(optim_wrapper, 'loss_scaler', None)
    return scaler is not None and scaler.is_enabled()


def bad_losses(losses: Mapping[str, Tensor]) -> list[str]:
    """Names of the losses that are NaN or infinite, their sum last."""
    if not losses:
        return []
    finite = torch.stack(
        [v.detach().float().mean() for v in losses.values()]).isfinite()
    names = [n for n, ok in zip(losses, finite.tolist(), strict=True)
             if not ok]
    return sorted(names, key=lambda name: name == 'loss')


def bad_gradients(model: nn.Module) -> list[str]:
    """Parameters whose gradient is not finite, from output to input."""
    return [name for name, p in reversed(list(model.named_parameters()))
            if p.grad is not None and not p.grad.isfinite().all()]


def first_bad_layer(model: nn.Module, args: tuple,
                    kwargs: dict) -> tuple[str | None, dict]:
    """Run a batch once more and watch the output of every layer.

    Returns the name of the first layer whose output is not finite, or None,
    and the losses. A ``teacher`` of the network is watched too.
    """
    found, handles = [], []

    def watch(name):
        def hook(module, inputs, output):
            if not found and not _finite(output):
                found.append(name)
        return hook

    teacher = getattr(model, 'teacher', None)
    for name, module in itertools.chain(
            model.named_modules(),
            teacher.named_modules(prefix='teacher') if teacher else ()):
        if not any(module.children()):
            handles.append(module.register_forward_hook(watch(name)))
    try:
        with torch.no_grad():
            losses = model(*args, **kwargs)
    finally:
        for handle in handles:
            handle.remove()
    return (found[0] if found else None), dict(losses)


def explain(model: nn.Module, inputs: tuple | None, names: list[str]) -> str:
    """Say in plain words where it began and with which files.

    ``names`` are losses or parameters that are not finite. The text is empty
    if nothing is wrong on this rank.
    """
    layer, terms = None, []
    if inputs is not None:
        layer, losses = first_bad_layer(model, *inputs)
        terms = bad_losses({k: _mean(v) for k, v in losses.items()
                            if 'loss' in k})
    if not (names or terms or layer):
        return ''
    text = f'Not finite: {", ".join((terms or names)[:3])}.'
    if layer is not None:
        text += f' It begins in the output of {layer}.'
    elif terms:
        text += (' Every layer\'s output is finite: it begins in the loss '
                 'itself.')
    else:
        text += (' The losses and outputs are finite: it begins in the '
                 f'backward pass, nearest to the loss at {names[0]}.')
    files = _files(inputs[1]) if inputs is not None else []
    if files and (terms or layer):
        text += f' The batch: {", ".join(files)}.'
    return text


def _mean(value) -> Tensor:
    """A loss may be a list of tensors, as MMEngine allows."""
    if isinstance(value, Tensor):
        return value.mean()
    return torch.stack([v.mean() for v in value]).sum()


def _finite(value) -> bool:
    return all(t.isfinite().all() for t in tree_flatten(value)[0]
               if isinstance(t, Tensor) and t.is_floating_point())


def _files(kwargs: dict) -> list[str]:
    samples = kwargs.get('data_samples') or []
    paths = (getattr(s, 'img_path', None) or s.get('img_path')
             for s in samples)
    return [str(path) for path in paths if path]
