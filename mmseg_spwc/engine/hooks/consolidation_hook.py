"""Stores what each step has learnt and penalises changes in later steps."""
import math
from collections.abc import Sequence
from functools import partial
from numbers import Real

import torch
from mmengine.hooks import Hook, LoggerHook
from mmengine.logging import print_log
from torch import Tensor, nn

from mmseg_spwc.consolidation import (
    EMAImportance,
    FisherImportance,
    GradientUpdate,
    Importance,
    LastForm,
    MASImportance,
    OnlineForm,
    PerStepForm,
    ProximalUpdate,
    QuadraticPenalty,
    SIImportance,
    StepStore,
)
from mmseg_spwc.consolidation.store import FOLDER
from mmseg_spwc.errors import ConfigError, input_errors
from mmseg_spwc.registry import HOOKS, TASK_UTILS, build_part
from mmseg_spwc.runtime.agreement import check_agreement
from mmseg_spwc.utils.distributed import from_first_rank, unwrap
from mmseg_spwc.utils.files import write_safetensors

from ..context import context_of
from ..optim import Consolidated, consolidated
from ..step_data import check_samples, measure, trained_params

KEY = 'mmseg_spwc_consolidation'

for part in FisherImportance, MASImportance, SIImportance, EMAImportance:
    TASK_UTILS.register_module(module=part)
for name, part in dict(
        per_step=PerStepForm, online=OnlineForm, last=LastForm,
        gradient=GradientUpdate, proximal=ProximalUpdate).items():
    TASK_UTILS.register_module(name=name, module=part)


@HOOKS.register_module()
class ConsolidationHook(Hook):
    r"""Weight consolidation: EWC, MAS, SI and similar methods.

    At the end of a step the importance :math:`\Gamma_t` of every trained
    parameter is measured and stored with the parameters :math:`\theta^*_t`.
    Later steps are trained with the penalty

    .. math::
        \lambda \sum_t v_t \sum_i \Gamma_{t,i} (\theta_i -
        \theta^*_{t,i})^2,

    halved if ``half``, see :class:`Consolidated`. Its value is logged as
    ``penalty``. The priorities v are 1 unless :meth:`set_priorities` says
    otherwise, as spWC does.

    Args:
        importance (str | dict): ``type='mmseg_spwc.FisherImportance'``,
            ``MASImportance``, ``SIImportance``, ``EMAImportance`` or your
            own :class:`~mmseg_spwc.consolidation.Importance`, registered in
            ``TASK_UTILS``, and its arguments.
        strength (float): :math:`\lambda`.
        half (bool): Whether the penalty has the factor 1/2. Defaults to
            True.
        form (str | dict): ``'per_step'``, every step around its own anchor;
            ``'online'``, importances added up around the newest anchor, or
            ``dict(type='online', decay=0.9)``; ``'last'``, the newest step
            alone; or your own of ``TASK_UTILS``. Defaults to 'per_step'.
        update (str | dict): ``'gradient'``; ``'proximal'``, which is stable
            for any strength; or your own of ``TASK_UTILS``. Defaults to
            'gradient'.
        n_samples (int, optional): Measure on this many images at most.
        exclude (Sequence[str]): Leave out parameters whose name contains one
            of these.
        store (str, optional): Where the tensors are kept. Defaults to
            ``consolidation`` beside the folders of the steps.
        importance_dtype (str): ``'bfloat16'`` stores importances in half
            the space, rounded to 8 bits. Defaults to 'float32'.
    """

    # after the self-paced hook (HIGH), before the LoggerHook
    priority = 'NORMAL'
    priority_unit = 'step'  # of the weights that spWC sets

    def __init__(self,
                 importance: str | dict,
                 strength: float,
                 half: bool = True,
                 form: str | dict = 'per_step',
                 update: str | dict = 'gradient',
                 n_samples: int | None = None,
                 exclude: Sequence[str] = (),
                 store: str | None = None,
                 importance_dtype: str = 'float32') -> None:
        if not isinstance(strength, Real) or not 0 <= strength < math.inf:
            raise ValueError('consolidation.strength must be finite and not '
                             f'negative, got {strength!r}.')
        check_samples(n_samples)
        self.importance = build_part(importance, 'importance', Importance)
        self.form = build_part(form, 'penalty form', PerStepForm)
        self.update = build_part(update, 'penalty update', GradientUpdate)
        self.strength = strength
        self.half = half
        self.n_samples = n_samples
        self.exclude = tuple(exclude)
        self.step = 0
        self.store = StepStore(
            store or FOLDER, importance_dtype,
            write=partial(from_first_rank, write_safetensors))
        self._has_place = store is not None
        self.penalty: QuadraticPenalty | None = None
        self._priorities: list | None = None
        self._updates: Consolidated | None = None
        self._model: nn.Module | None = None
        self._loaded: dict = {}

    @property
    def trains_first_step(self) -> bool:
        """Whether the hook takes part in the training of step 0."""
        return self.importance.along_the_path

    def set_priorities(self, v: Sequence[float]) -> None:
        """Weight the penalty of every earlier step, from now on."""
        self._priorities = list(v)
        if self._updates is not None:
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
        self._updates = consolidated(runner)
        self._updates.observe(params, self.importance)
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
        if self.importance.along_the_path and self._updates is None:
            raise ConfigError(
                'This importance is gathered while a step is trained, so '
                'step 0 cannot be taken from start_from: train it with this '
                'method.')
        self._model = unwrap(runner.model)
        params = self._params()
        importances = measure(self.importance, runner, self._model, params,
                              self.step, self.n_samples)
        check_agreement(f'about the importances of step {self.step}',
                        importances=importances)
        self.store.save(self.step, importances, params)
        context_of(runner).entry['consolidation'] = self._kept()

    def _find_place(self, runner) -> None:
        context = context_of(runner)
        self.step = context.step
        if not self._has_place:
            self.store.directory = context.work_dir / FOLDER

    def _params(self) -> dict[str, Tensor]:
        return trained_params(self._model, self.exclude)

    def _weights(self) -> dict[int, float]:
        priorities = self._priorities
        if priorities is None:
            priorities = [1.] * self.step
        if len(priorities) != self.step:
            raise ValueError(
                f'{len(priorities)} priorities were given for the penalties '
                f'of {self.step} earlier steps.')
        factor = self.strength / 2 if self.half else self.strength
        return {step: factor * v for step, v in enumerate(priorities)}

    def _kept(self) -> dict:
        """How many earlier steps are penalised, and how many are stored."""
        weights = self._weights().values()
        penalised = sum(weight > 0 for weight in weights)
        if self.form.one_anchor:
            penalised = min(penalised, 1)
        return dict(penalised=penalised, stored=self.step)

    def _check_store(self) -> None:
        missing = set(range(self.step)) - set(self.store.steps())
        if missing:
            raise ConfigError(
                f'{self.store.directory} holds no importances of step '
                f'{min(missing)}: they are measured when a step is trained. '
                'Train it with this method instead of taking its weights '
                'from start_from.')

    def _hold(self) -> None:
        """Build the penalty from the store and hand it on."""
        self.penalty = self.form(self.store, self._weights(),
                                 self.importance.prepare)
        with input_errors(f'importances in {self.store.directory}'):
            self.penalty.check(dict(self._model.named_parameters()))
        self.update.attach(self.penalty, self._updates.optimizer)
        self._warn_of_divergence()
        self._updates.hold(self._params(), self.update)

    def _warn_of_divergence(self) -> None:
        factor = self.update.largest_safe_factor()
        if factor <= 1:
            print_log(
                'The penalty is so strong that gradient updates will '
                f'diverge: use a strength below {factor * self.strength:.3g},'
                " a smaller lr, or update='proximal'.",
                'current', level=30)


def _is_logged(hook: Hook, runner, batch_idx: int) -> bool:
    """Whether the LoggerHook may write after this iteration."""
    return hook.end_of_epoch(runner.train_dataloader, batch_idx) or any(
        hook.every_n_inner_iters(batch_idx, other.interval)
        for other in runner.hooks if isinstance(other, LoggerHook))
