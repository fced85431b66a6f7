"""spWC: hold on to what the model does worst."""
import math
from collections.abc import Mapping
from pathlib import Path

import torch
from mmengine.hooks import Hook
from mmengine.logging import print_log

from mmseg_spwc.errors import ConfigError
from mmseg_spwc.record import Record
from mmseg_spwc.registry import HOOKS
from mmseg_spwc.scenario import build_scenario
from mmseg_spwc.selfpaced import PriorityWeights, SelfPacedWeights
from mmseg_spwc.utils.distributed import unwrap

from ..problems import problem_of
from .step_transition_hook import transition_of

SCORES = 'self_paced_scores'


@HOOKS.register_module()
class SelfPacedHook(Hook):
    """Turns the scores of old units into priority weights.

    At the start of a step it reads, from the record, how well the model of
    the step before does on every old unit (``psi``, on the held-out slice),
    computes the paper's eta, mu and v once, logs them, and hands v on:

    - to a consolidation hook, which weights the penalty of every old step,
      if the method has one;
    - else to the segmentor, which weights the loss of the pixels that the
      old model ascribes to each old unit. New classes keep weight 1.

    Args:
        step (int): The step.
        scenario (dict): See :func:`mmseg_spwc.scenario.build_scenario`.
        record (str): The run's record.
        unit (str, optional): ``'class'``, background included, or
            ``'step'``. Defaults to 'step' for penalties and to 'class' for
            pixels. Tasks of classification are scored by step only.
        background (str): ``'unit'``, as in the paper: background is scored
            and weighted as any class; being easy, it often gets no weight.
            ``'keep'``: it is no unit and has weight 1. That needs a scenario
            with a background, and classes as units.
        update (str | dict): ``'task'``, once as in the paper, or
            ``dict(epochs=N)`` or ``dict(iters=N)`` to measure the scores
            anew on the held-out slice and renew the weights every N.
        **options: Those of :class:`mmseg_spwc.selfpaced.SelfPacedWeights`:
            rule, k, mu, age, normalise, protect_last, relative, ...
    """

    # after the weights are loaded, before a consolidation hook
    priority = 'HIGH'

    def __init__(self,
                 step: int,
                 scenario: dict,
                 record: str,
                 unit: str | None = None,
                 background: str = 'unit',
                 update: str | dict = 'task',
                 **options) -> None:
        if unit not in (None, 'class', 'step'):
            raise ValueError(f"self_paced.unit is 'class' or 'step', not "
                             f'{unit!r}.')
        if background not in ('unit', 'keep'):
            raise ValueError("self_paced.background is 'unit' or 'keep', not "
                             f'{background!r}.')
        if update != 'task' and not (
                isinstance(update, Mapping)
                and set(update) in ({'epochs'}, {'iters'})):
            raise ValueError("self_paced.update is 'task', dict(epochs=N) or "
                             f'dict(iters=N), not {update!r}.')
        self.step = step
        self.scenario = build_scenario(scenario)
        if unit == 'class' and self.scenario.problem == 'classification':
            raise ValueError('Tasks are scored as a whole: set '
                             "self_paced.unit='step' or leave it out.")
        self.record = Path(record)
        self.unit = unit
        self.background = background
        self.update = {} if update == 'task' else dict(update)
        self.pace = SelfPacedWeights(**options)
        self._check_background()

    def before_train(self, runner) -> None:
        penalties = _receivers(runner)
        self.unit = self.unit or ('step' if penalties else 'class')
        self._check_background()
        if not penalties:
            transition_of(runner).ensure_teacher(runner)
        history = self._history()
        now = history[-1]
        if runner.iter > 0:  # resumed: what was measured last holds on
            now = runner.message_hub.get_info(SCORES, now)
        self._apply(runner, now, best_of([*history, now]))

    def after_train_epoch(self, runner) -> None:
        if self.every_n_epochs(runner, self.update.get('epochs', 0)):
            self._renew(runner)

    def after_train_iter(self, runner, batch_idx, data_batch=None,
                         outputs=None) -> None:
        if self.every_n_train_iters(runner, self.update.get('iters', 0)):
            self._renew(runner)

    def _check_background(self) -> None:
        if self.background == 'keep' and (
                self.unit == 'step' or not self.scenario.has_background):
            raise ConfigError(
                "self_paced.background='keep' needs unit='class' and a "
                f'scenario with a background; here the unit is {self.unit!r} '
                f'and the scenario {self.scenario.dataset} has '
                f"{'one' if self.scenario.has_background else 'none'}.")

    def _history(self) -> list:
        record = Record.read(self.record)
        return [
            _scores(record.step(s)['kpi'], self.unit, s)
            for s in range(self.step)
        ]

    def _renew(self, runner) -> None:
        """Score the model in training, as the end of a step does."""
        metrics = runner.val_loop.run()
        runner.model.train()
        kpi = problem_of(self.scenario).kpi(
            metrics, runner.val_loop, self.scenario, self.step)
        history = self._history()
        now = kpi[self.unit][:len(history[-1])]
        self._apply(runner, now, best_of([*history, now]))

    def _apply(self, runner, psi: list, best: list) -> None:
        runner.message_hub.update_info(SCORES, list(psi))
        newest = self.scenario.new_channels(
            self.step - 1) if self.unit == 'class' else 1
        if self.background == 'keep':
            psi = [None, *psi[1:]]  # a unit without a score keeps weight 1
        decision = self.pace(
            psi, step=self.step, best=best, newest=newest)
        for hook in _receivers(runner):
            hook.set_priorities(self._by_step(decision.v).tolist())
        if not _receivers(runner):
            unwrap(runner.model).priority_table = self._table(decision.v)
        self._log(runner, decision)

    def _by_step(self, v: torch.Tensor) -> torch.Tensor:
        if self.unit == 'step':
            return v
        steps = torch.tensor(self.scenario.step_of_channel(self.step - 1))
        return torch.stack([v[steps == s].mean() for s in range(self.step)])

    def _table(self, v: torch.Tensor) -> torch.Tensor:
        """Weight of every channel's pixels; 1 for new classes and 255."""
        table = torch.ones(256)
        if self.unit == 'step':
            v = v[torch.tensor(
                self.scenario.step_of_channel(self.step - 1))]
        table[:len(v)] = v.float()
        return table

    def _log(self, runner, decision: PriorityWeights) -> None:
        summary = dict(
            unit=self.unit, rule=self.pace.rule,
            psi=_finite(decision.psi), eta=_finite(decision.eta),
            v=_finite(decision.v), mu=_finite_or_none(decision.mu),
            f=_finite_or_none(decision.f))
        runner.message_hub.update_info('priority', summary)
        scalars = {
            f'spwc/{key}.{i}': value
            for key in ('psi', 'eta', 'v')
            for i, value in enumerate(summary[key]) if value is not None
        }
        scalars.update({
            f'spwc/{key}': summary[key]
            for key in ('mu', 'f') if summary[key] is not None
        })
        runner.visualizer.add_scalars(scalars, step=runner.iter)
        print_log(
            f'spWC ({self.pace.rule}, by {self.unit}): kept {decision.kept} '
            f'of {len(decision.v)} units, mu {decision.mu:.3f}, v '
            + ' '.join(f'{x:.2f}' for x in decision.v.tolist()), 'current')


def best_of(history: list) -> list:
    """The best score of every unit of the last row so far."""
    best = []
    for unit in range(len(history[-1])):
        known = [
            row[unit] for row in history
            if unit < len(row) and row[unit] is not None
        ]
        best.append(max(known, default=None))
    return best


def _receivers(runner) -> list:
    return [h for h in runner.hooks if hasattr(h, 'set_priorities')]


def _scores(kpi: dict | None, unit: str, step: int) -> list:
    if kpi is None:
        raise ConfigError(
            f'The record holds no scores of step {step}: spWC needs a '
            'held-out slice, set heldout.ratio above 0.')
    return kpi[unit]


def _finite(values: torch.Tensor) -> list:
    return [_finite_or_none(v) for v in values.tolist()]


def _finite_or_none(value: float) -> float | None:
    return value if math.isfinite(value) else None
