"""spWC: give a larger weight to what the model does worst on."""
import math
from collections.abc import Mapping, Sequence

import torch
from mmengine.hooks import Hook
from mmengine.logging import print_log

from mmseg_spwc.errors import ConfigError
from mmseg_spwc.problems import keep_last_scores, problem_of
from mmseg_spwc.registry import HOOKS
from mmseg_spwc.selfpaced import (
    PriorityWeights,
    SelfPacedChoice,
    priority_takers,
    taken_unit,
    weights_of,
)
from mmseg_spwc.utils.distributed import unwrap
from mmseg_spwc.utils.options import is_positive
from mmseg_spwc.utils.random_state import generators_kept

from ..context import StepContext, context_of

SCORES = 'self_paced_scores'


@HOOKS.register_module()
class SelfPacedHook(Hook):
    """Turns the scores of old units into priority weights.

    At the start of a step it reads, from the record, how well the model of
    the step before does on every old unit (``psi``, on the held-out slice),
    lets :class:`~mmseg_spwc.selfpaced.SelfPacedChoice` decide eta, mu and v
    once, logs them, and passes v on
    (:func:`priority_takers`): the penalties of the old steps or, where the
    method has none, the model, for the pixels of the old classes.

    Args:
        unit (str): ``'class'``, background included, or ``'step'``. A config
            may leave it out; the taker's own unit is then written here.
            Tasks of classification are scored by step only.
        background (str): ``'unit'``, as in the paper: background is scored
            and weighted as any class; being easy, it often gets no weight.
            ``'keep'``: it is not a unit and has weight 1. That needs a
            scenario with a background, and classes as units.
        update (str | dict): ``'step'``, once as in the paper, or
            ``dict(epochs=N)`` or ``dict(iters=N)`` to measure the scores
            anew on the held-out slice and renew the weights every N.
        **options: Those of :class:`mmseg_spwc.selfpaced.SelfPacedWeights`:
            rule, k, mu, age, normalise, protect_last, relative, ...
    """

    # after the weights are loaded, before a consolidation hook
    priority = 'HIGH'
    known_as = 'self_paced'  # where a config has its options

    def __init__(self,
                 unit: str,
                 background: str = 'unit',
                 update: str | dict = 'step',
                 **options) -> None:
        self.update = _interval(update)
        self.choice = SelfPacedChoice.from_dict(
            dict(options, unit=unit, background=background))
        self._history: list = []  # scores after every earlier step

    def before_train(self, runner) -> None:
        context = context_of(runner)
        self._history = [
            _scores(context.record.step(s)['kpi'], self.choice.unit, s)
            for s in range(context.step)
        ]
        now = self._history[-1]
        if runner.iter > 0:  # resumed: go on with what was measured last
            now = runner.message_hub.get_info(SCORES, now)
        self._apply(runner, now)

    def after_train_epoch(self, runner) -> None:
        if self.every_n_epochs(runner, self.update.get('epochs', 0)):
            self._renew(runner)

    def after_train_iter(self, runner, batch_idx, data_batch=None,
                         outputs=None) -> None:
        if self.every_n_train_iters(runner, self.update.get('iters', 0)):
            self._renew(runner)

    def _renew(self, runner) -> None:
        """Score the model in training, as the end of a step does."""
        with generators_kept():
            metrics = runner.val_loop.run()
        runner.model.train()
        context = context_of(runner)
        kpi = problem_of(context.scenario).kpi(
            metrics, runner.val_loop, context.scenario, context.step)
        kpi = keep_last_scores(
            kpi, context.scenario, context.step,
            [context.record.step(s) for s in range(context.step)])
        self._apply(runner, kpi[self.choice.unit])

    def _apply(self, runner, now: list) -> None:
        runner.message_hub.update_info(SCORES, list(now))
        decision = self.choice.decide(self._history, now)
        context = context_of(runner)
        steps = context.scenario.step_of_channel(context.step - 1)
        for taker in priority_takers(runner.hooks, unwrap(runner.model)):
            v = weights_of(taken_unit(taker), decision.v, self.choice.unit,
                           steps)
            taker.set_priorities(v.tolist())
        self._log(runner, context, decision)

    def _log(self, runner, context: StepContext,
             decision: PriorityWeights) -> None:
        summary = dict(
            unit=self.choice.unit, rule=self.choice.rule,
            psi=_finite(decision.psi), eta=_finite(decision.eta),
            v=_finite(decision.v), mu=_finite_or_none(decision.mu),
            f=_finite_or_none(decision.f))
        context.entry['priority'] = summary
        names = [f'step_{t}' for t in range(len(decision.v))] \
            if self.choice.unit == 'step' \
            else runner.train_dataloader.dataset.metainfo['classes']
        scalars = {
            f'spwc/{key}.{name}': value
            for key in ('psi', 'eta', 'v')
            for name, value in zip(names, summary[key], strict=False)
            if value is not None
        }
        scalars.update({
            f'spwc/{key}': summary[key]
            for key in ('mu', 'f') if summary[key] is not None
        })
        runner.visualizer.add_scalars(scalars, step=runner.iter)
        print_log(
            f'spWC ({summary["rule"]}, by {summary["unit"]}): kept '
            f'{decision.kept} of {len(decision.v)} units, mu '
            f'{decision.mu:.3f}, v '
            + ', '.join(f'{name} {x:.2f}' for name, x in zip(
                names, decision.v.tolist(), strict=False)), 'current')


@HOOKS.register_module()
class ReplayPriorityHook(Hook):
    """Draws replayed samples by spWC's weights (``self_paced.on='replay'``).

    A unit is drawn by its weight, then one of the remembered samples that
    show it. The weights act from the next epoch on; if all are zero, all
    samples are alike.

    Args:
        unit (str): ``'class'``, the background left out, or ``'step'``.
    """

    takes_alone = True  # penalties and pixels are as without spWC

    def __init__(self, unit: str = 'class') -> None:
        self.priority_unit = unit

    def before_run(self, runner) -> None:
        self.sampler = runner.train_dataloader.sampler

    def set_priorities(self, v: Sequence[float]) -> None:
        self.sampler.draw_by(v, self.priority_unit)


def _interval(update: str | Mapping) -> dict:
    """How often the weights are renewed; empty for once per step."""
    if update == 'step':
        return {}
    if isinstance(update, Mapping) and set(update) in (
            {'epochs'}, {'iters'}) and all(map(is_positive, update.values())):
        return dict(update)
    raise ValueError("self_paced.update is 'step', dict(epochs=N) or "
                     f'dict(iters=N), not {update!r}.')


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
