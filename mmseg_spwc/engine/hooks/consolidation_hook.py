"""Keeps what each step has learnt, and holds later steps to it."""
import math
from collections.abc import Sequence
from numbers import Real
from pathlib import Path

import torch
from mmengine.dist import broadcast, get_rank
from mmengine.hooks import Hook, LoggerHook
from mmengine.logging import print_log
from torch import Tensor, nn

from mmseg_spwc.consolidation import QuadraticPenalty, TaskStore
from mmseg_spwc.errors import ConfigError
from mmseg_spwc.registry import HOOKS
from mmseg_spwc.utils.distributed import from_first_rank, unwrap
from mmseg_spwc.utils.random_state import seeded

from ..importance import StepData, build_importance
from ..importance.forms import FORMS
from ..optim.consolidated import Consolidated
from ..optim.penalty_updates import UPDATES, largest_safe_factor
from ..safety.agreement import check_agreement
from .step_transition_hook import step_of

KEY = 'mmseg_spwc_consolidation'
FOLDER = 'consolidation'


@HOOKS.register_module()
class ConsolidationHook(Hook):
    r"""Weight consolidation: EWC, MAS, SI and their kin.

    At the end of a step the importance :math:`\Gamma_t` of every trained
    parameter is measured and stored with the parameters :math:`\theta^*_t`.
    Later steps are trained with the penalty

    .. math::
        \lambda \sum_t v_t \sum_i \Gamma_{t,i} (\theta_i -
        \theta^*_{t,i})^2,

    halved if ``half``, which a :class:`Consolidated` optimiser wrapper
    applies. Its value is logged as ``penalty``. The priorities v are 1 unless
    :meth:`set_priorities` says otherwise, as spWC does.

    Args:
        importance (dict): ``type`` ``'fisher'``, ``'mas'``, ``'si'`` or
            ``'ema'``, and its arguments (:mod:`mmseg_spwc.engine.importance`).
        strength (float): :math:`\lambda`.
        half (bool): Whether the penalty has the factor 1/2. Defaults to
            True.
        form (str): ``'task'``, every step around its own anchor;
            ``'online'``, importances added up around the newest anchor; or
            ``'last'``, the newest step alone. Defaults to 'task'.
        decay (float): Share of the older importances that remains at every
            step, for ``form='online'``. Defaults to 1.
        update (str): ``'gradient'``, or ``'proximal'``, which is stable for
            any strength. Defaults to 'gradient'.
        n_samples (int, optional): Measure on this many images at most.
        exclude (Sequence[str]): Leave out parameters whose name contains one
            of these.
        step (int, optional): The step. Defaults to the transition hook's.
        store (str, optional): Where the tensors are kept. Defaults to
            ``consolidation`` beside the folders of the steps.
    """

    # after the self-paced hook (HIGH), before the LoggerHook
    priority = 'NORMAL'
    priority_unit = 'step'  # of the weights that spWC sets

    def __init__(self,
                 importance: dict,
                 strength: float,
                 half: bool = True,
                 form: str = 'task',
                 decay: float = 1.,
                 update: str = 'gradient',
                 n_samples: int | None = None,
                 exclude: Sequence[str] = (),
                 step: int | None = None,
                 store: str | None = None) -> None:
        for name, value, known in (('form', form, FORMS),
                                   ('update', update, UPDATES)):
            if value not in known:
                raise ValueError(f'consolidation.{name} is one of '
                                 f'{", ".join(known)}, not {value!r}.')
        if not isinstance(strength, Real) or not 0 <= strength < math.inf:
            raise ValueError('consolidation.strength must be finite and not '
                             f'negative, got {strength!r}.')
        if decay != 1 and form != 'online':
            raise ValueError("consolidation.decay needs form='online'.")
        self.importance = build_importance(importance)
        self.strength = strength
        self.half = half
        self.form = form
        self.decay = decay
        self.update = update
        self.n_samples = n_samples
        self.exclude = tuple(exclude)
        self.step = step
        self.store = store and TaskStore(store)
        self.penalty: QuadraticPenalty | None = None
        self._priorities: list | None = None
        self._optim_wrapper: Consolidated | None = None
        self._model: nn.Module | None = None
        self._loaded: dict = {}

    @property
    def trains_first_step(self) -> bool:
        """Whether the hook takes part in the training of step 0."""
        return self.importance.along_the_path

    def set_priorities(self, v: Sequence[float]) -> None:
        """Weight the penalty of every earlier step, from now on."""
        self._priorities = list(v)
        if self._optim_wrapper is not None:
            self._hold()

    def before_train(self, runner) -> None:
        self._find_place(runner)
        self._model = unwrap(runner.model)
        self._check_store()
        params = self._params()
        self.importance.begin(params, self.store, self.step)
        if self._loaded:
            device = next(iter(params.values())).device
            self.importance.load_state_dict(
                {name: t.to(device) for name, t in self._loaded.items()})
        self._optim_wrapper = consolidated(runner.optim_wrapper)
        self._optim_wrapper.observe(params, self.importance)
        if self.step > 0:
            self._hold()

    def after_train_iter(self, runner, batch_idx, data_batch=None,
                         outputs=None) -> None:
        if self.penalty is not None and _is_logged(self, runner, batch_idx):
            with torch.no_grad():
                value = self.penalty.value(self._params())
            runner.message_hub.update_scalar('train/penalty', value.item())

    def before_save_checkpoint(self, runner, checkpoint: dict) -> None:
        checkpoint[KEY] = {
            name: tensor.cpu()
            for name, tensor in self.importance.state_dict().items()
        }

    def after_load_checkpoint(self, runner, checkpoint: dict) -> None:
        self._loaded = checkpoint.get(KEY, {})

    def after_train(self, runner) -> None:
        """Measure and store; a repetition overwrites it with the same."""
        self._find_place(runner)
        if self.importance.along_the_path and self._optim_wrapper is None:
            raise ConfigError(
                'This importance is gathered while a step is trained, so '
                'step 0 cannot be taken from start_from: train it with this '
                'method.')
        self._model = unwrap(runner.model)
        # the first rank's running statistics are those that are kept
        for buffer in self._model.buffers():
            broadcast(buffer)
        params = self._params()
        data = StepData(runner.train_dataloader, self._model, self.n_samples)
        with seeded(runner.seed or 0, self.step, get_rank()):
            importances = self.importance.estimate(self._model, params, data)
        check_agreement(f'about the importances of step {self.step}',
                        importances=importances)
        from_first_rank(self.store.save, self.step, importances, params)
        runner.message_hub.update_info('consolidation', self._kept())

    def _find_place(self, runner) -> None:
        if self.step is None:
            self.step = step_of(runner)
        if self.store is None:
            self.store = TaskStore(Path(runner.work_dir).parent / FOLDER)

    def _params(self) -> dict[str, Tensor]:
        return {
            name: param
            for name, param in self._model.named_parameters()
            if param.requires_grad and not any(
                part in name for part in self.exclude)
        }

    def _weights(self) -> dict[int, float]:
        priorities = self._priorities
        if priorities is None:
            priorities = [1.] * self.step
        if len(priorities) != self.step:
            raise ValueError(
                f'{len(priorities)} priorities were given for the penalties '
                f'of {self.step} earlier steps.')
        factor = self.strength / 2 if self.half else self.strength
        return {task: factor * v for task, v in enumerate(priorities)}

    def _kept(self) -> dict:
        """How many earlier steps are penalised, and how many are stored."""
        weights = self._weights().values()
        penalised = sum(weight > 0 for weight in weights)
        if self.form != 'task':  # one penalty, around one anchor
            penalised = min(penalised, 1)
        return dict(penalised=penalised, stored=self.step)

    def _check_store(self) -> None:
        missing = set(range(self.step)) - set(self.store.tasks())
        if missing:
            raise ConfigError(
                f'{self.store.directory} holds no importances of step '
                f'{min(missing)}: they are measured when a step is trained. '
                'Train it with this method instead of taking its weights '
                'from start_from.')

    def _hold(self) -> None:
        """Build the penalty from the store and hand it on."""
        self.penalty = FORMS[self.form](
            self.store, self._weights(), self.importance.prepare, self.decay)
        self.penalty.check(dict(self._model.named_parameters()))
        self._warn_of_divergence()
        self._optim_wrapper.hold(self._params(), self.penalty, self.update)

    def _warn_of_divergence(self) -> None:
        factor = largest_safe_factor(self.penalty,
                                     self._optim_wrapper.optimizer)
        if self.update == 'gradient' and factor <= 1:
            print_log(
                'The penalty is so strong that gradient updates will '
                f'diverge: use a strength below {factor * self.strength:.3g},'
                " a smaller lr, or update='proximal'.",
                'current', level=30)


def consolidated(optim_wrapper) -> Consolidated:
    """Return the optimiser wrapper, if it lets others take part."""
    if not isinstance(optim_wrapper, Consolidated):
        raise ConfigError(
            f'A {type(optim_wrapper).__name__} cannot consolidate: set '
            "optim_wrapper.type='mmseg_spwc.ConsolidatedOptimWrapper'.")
    return optim_wrapper


def _is_logged(hook: Hook, runner, batch_idx: int) -> bool:
    """Whether the LoggerHook may write after this iteration."""
    return hook.end_of_epoch(runner.train_dataloader, batch_idx) or any(
        hook.every_n_inner_iters(batch_idx, other.interval)
        for other in runner.hooks if isinstance(other, LoggerHook))
