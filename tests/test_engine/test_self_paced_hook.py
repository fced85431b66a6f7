"""How the weights reach those who take them, and what is logged."""
from types import SimpleNamespace

import pytest
import torch

from mmseg_spwc.config.preflight import choice_of
from mmseg_spwc.config.step import scenario_of, step_config
from mmseg_spwc.engine.context import StepContext
from mmseg_spwc.engine.hooks import (
    ReplayPriorityHook,
    SelfPacedHook,
    self_paced_hook,
)
from mmseg_spwc.errors import ConfigError
from mmseg_spwc.registry import HOOKS, MODELS
from mmseg_spwc.scenario import build_scenario
from mmseg_spwc.selfpaced import (
    SelfPacedChoice,
    priority_takers,
    priority_weights,
    taken_unit,
)

SCENARIO = build_scenario(dict(
    dataset='mine', num_classes=6, steps=[[1, 2], [3], [4, 5]], name='m'))
HISTORY = [[.9, .4, .8], [.98, .5, .8, .6]]  # background first


def hook(unit='class', **options):
    return SelfPacedHook(unit, **options or dict(rule='spwc', k=2))


def apply(hook, runner, history):
    hook._history = history
    hook._apply(runner, history[-1])


def test_paper_example_of_the_sheet():
    """Weights after step 0 of a published 10-1 run (mu is that of k = 10).

    The two classes at 95.1 % are left out: rounding decides about them.
    """
    psi = [.899, .415, .881, .706, .847, .879, .920, .481, .914]
    v = priority_weights(psi, mu=2.879).tolist()
    expected = [.53, .96, .59, .84, .67, .59, .44, .94, .47]
    assert v == pytest.approx(expected, abs=0.01)


class Taker(torch.nn.Module):
    """A model, or a hook, that keeps what it is told."""

    def __init__(self, unit=None):
        super().__init__()
        if unit:
            self.priority_unit = unit

    def set_priorities(self, v):
        self.v = v


class Listener:
    """A runner, as far as the weights need one."""

    class _Part:

        def __init__(self):
            self.info = {}

        def update_info(self, key, value):
            self.info[key] = value

        def add_scalars(self, scalars, step):
            self.scalars = scalars

    def __init__(self, hooks=(), model=None):
        self.hooks, self.iter = list(hooks), 0
        self.model = model or Taker('class')
        self.message_hub, self.visualizer = self._Part(), self._Part()
        self.context = StepContext(
            2, SCENARIO, 'nowhere', SimpleNamespace(step=lambda s: dict(
                kpi=dict(**{'class': HISTORY[s]}))))
        names = 'background', 'boat', 'car', 'cat', 'dog', 'cow'
        self.train_dataloader = SimpleNamespace(
            dataset=SimpleNamespace(metainfo=dict(classes=names)))

    @property
    def priority(self):
        return self.context.entry['priority']


def test_the_model_gets_the_weights_of_its_classes():
    runner = Listener()
    apply(hook(), runner, HISTORY)
    expected = priority_weights(HISTORY[-1], k=2).tolist()
    assert runner.model.v == runner.priority['v'] == expected


def test_weights_of_steps_are_told_of_their_classes():
    runner = Listener()
    apply(hook(unit='step', rule='linear', mu=1.), runner,
          [[.5], [.25, .75]])
    first, second = runner.priority['v']
    assert runner.visualizer.scalars['spwc/v.step_1'] == second
    assert runner.model.v == [first] * 3 + [second]


def test_penalties_come_first_and_get_the_means_of_their_steps():
    penalty, model = Taker(), Taker('class')
    runner = Listener([object(), penalty], model)
    apply(hook(rule='linear', mu=1.), runner, HISTORY)
    v = runner.priority['v']
    assert penalty.v == pytest.approx([sum(v[:3]) / 3, v[3]])
    assert not hasattr(model, 'v')


def test_renewed_weights_go_by_the_scores_of_now(monkeypatch):
    now = [.9, .5, .1, .7]
    monkeypatch.setattr(
        self_paced_hook, 'problem_of', lambda scenario: SimpleNamespace(
            kpi=lambda *_: {'class': now}))
    runner = Listener([Taker('class')])
    runner.val_loop = SimpleNamespace(
        run=lambda: runner.model.eval() and {})
    paced = hook(k=2, relative=True, update=dict(iters=1))
    paced.before_train(runner)
    first = runner.priority['psi']
    for _ in range(3):
        paced.after_train_iter(runner, 0)
        assert runner.model.training  # scoring has switched it
    best = [max(x) for x in zip([*HISTORY[0], 0], HISTORY[1], now,
                                strict=True)]
    assert runner.priority['psi'] == pytest.approx(
        [x / y for x, y in zip(now, best, strict=True)])
    assert first != runner.priority['psi']


def test_takers_are_found_as_objects_and_as_classes():
    penalty = HOOKS.get('mmseg_spwc.ConsolidationHook')
    segmentor, classifier = (
        MODELS.get(f'mmseg_spwc.Continual{name}')
        for name in ('EncoderDecoder', 'ImageClassifier'))
    both = [SelfPacedHook, penalty]
    assert priority_takers(both, segmentor) == [penalty]
    assert priority_takers(both[:1], segmentor) == [segmentor]
    replay = ReplayPriorityHook()
    assert priority_takers([*both, replay], segmentor) == [replay]
    assert priority_takers(both[:1], classifier) == []
    assert taken_unit(penalty) == 'step' and taken_unit(segmentor) == 'class'


def test_log_tells_scores_and_weights():
    runner = Listener()
    apply(hook(background='keep', k=2), runner, HISTORY)
    assert runner.priority['psi'] == [None, .5, .8, .6]
    assert runner.priority['v'][0] == 1 and runner.priority['eta'][0] is None
    scalars = runner.visualizer.scalars
    assert 'spwc/psi.background' not in scalars
    assert scalars['spwc/psi.boat'] == .5 and scalars['spwc/psi.cat'] == .6
    assert 'spwc/psi.dog' not in scalars
    assert runner.priority['unit'] == 'class'
    assert runner.priority['rule'] == 'spwc'


def test_the_record_learns_how_a_step_will_decide():
    """What a config says and what the hook does are one thing."""
    from mmengine.config import Config
    options = dict(unit='class', rule='linear', mu=float('inf'),
                   background='keep')
    made = dict(options, type='mmseg_spwc.SelfPacedHook',
                update=dict(iters=3))
    told = choice_of(Config(dict(custom_hooks=[dict(type='A'), made])))
    del made['type']
    assert SelfPacedChoice.from_dict(told) == SelfPacedHook(**made).choice
    assert choice_of(Config(dict(custom_hooks=[dict(type='A')]))) is None


@pytest.mark.parametrize('unit, scenario, missing', [
    ('step', None, "unit is 'step'"),
    ('class', dict(dataset='cityscapes_domain', name='1-1'), 'has none'),
])
def test_background_is_kept_only_where_there_is_one(tiny_config, unit,
                                                    scenario, missing):
    cfg = tiny_config()
    cfg.scenario = scenario or cfg.scenario
    cfg.self_paced = dict(k=2, background='keep', unit=unit)
    with pytest.raises(ConfigError, match=missing):
        step_config(cfg, scenario_of(cfg), 1)


@pytest.mark.parametrize('options, message', [
    (dict(unit='pixel', k=2), 'unit'),
    (dict(background='drop', k=2), 'background'),
    (dict(update='sometimes', k=2), 'update'),
    (dict(update=dict(days=2), k=2), 'update'),
    (dict(rule='spwc'), 'mu|k'),
    (dict(rule='spwc', k=2, mu=1.), 'mu|k'),
    (dict(rule='sbwc', k=2), 'spwc'),
])
def test_wrong_options(options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        hook(**options)
