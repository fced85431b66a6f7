import pytest
import torch
from quadratic_tasks import build, make_params, make_task
from torch import nn

from mmseg_spwc.consolidation import QuadraticPenalty


def test_online_keeps_the_last_anchor_and_decays():
    tasks = [make_task(t) for t in range(3)]
    penalty, decay, weight = QuadraticPenalty(), .9, 2.
    for task in tasks:
        penalty.add_online(weight, *task, decay=decay)
    params, last = make_params(), tasks[-1][1]
    expected = 0.
    for name, param in params.items():
        strength = sum(
            weight * decay**(2 - t) * task[0][name].double()
            for t, task in enumerate(tasks))
        expected += (strength * (param - last[name])**2).sum().item()
    assert penalty.value(params).item() == pytest.approx(expected)


def test_online_head_that_is_no_longer_trained_keeps_its_penalty():
    penalty = QuadraticPenalty()
    penalty.add_online(1., {'old': torch.ones(2)}, {'old': torch.zeros(2)})
    penalty.add_online(
        1., {'new': torch.ones(2)},
        {'old': torch.ones(2), 'new': torch.zeros(2)}, decay=.5)
    value = penalty.value({'old': torch.full((2, ), 3.)})
    assert value.item() == pytest.approx(.5 * 2 * (3 - 1)**2)


def test_missing_gradients_and_new_heads_stay_as_they_are():
    penalty = build([make_task(1)], [1.])
    params = make_params()
    params['head'] = nn.Parameter(torch.ones(2))
    params['head'].grad = torch.full((2, ), .5)
    params['scale'].grad = torch.ones((), dtype=torch.float64)
    penalty.add_gradient_(params)
    penalty.proximal_(params, lr=.1)
    assert params['trunk.weight'].grad is None
    assert params['head'].grad.tolist() == [.5, .5]
    assert params['head'].tolist() == [1., 1.]
    assert params['scale'].grad != 1


def test_tasks_with_different_heads():
    first = {'trunk': torch.ones(2)}, {'trunk': torch.zeros(2)}
    second = ({'trunk': torch.ones(2), 'head': torch.ones(3)},
              {'trunk': torch.ones(2), 'head': torch.ones(3)})
    penalty = build([first, second], [1., 1.])
    value = penalty.value({'trunk': torch.zeros(2), 'head': torch.zeros(3)})
    assert value.item() == pytest.approx(2 + 3)


def test_later_changes_to_the_given_tensors_have_no_effect():
    importances, anchors = make_task(1)
    penalty, params = build([(importances, anchors)], [1.]), make_params()
    before = penalty.value(params).item()
    anchors['scale'].add_(1.)
    importances['scale'].zero_()
    assert penalty.value(params).item() == before


def test_tasks_may_be_added_after_the_penalty_was_used():
    tasks, params = [make_task(1), make_task(2)], make_params()
    penalty = build(tasks[:1], [1.])
    penalty.value(params)
    penalty.add(1., *tasks[1])
    fresh = build(tasks, [1., 1.])
    assert torch.equal(penalty.value(params), fresh.value(params))


def test_state_dict_round_trip():
    penalty = build([make_task(1), make_task(2)], [1., 2.])
    state = penalty.state_dict()
    assert all(isinstance(v, torch.Tensor) for v in state.values())
    other, params = build([make_task(5)], [1.]), make_params()
    other.value(params)
    other.load_state_dict(state)
    assert torch.equal(other.value(params), penalty.value(params))
    for p in (penalty, other):
        p.add(1., *make_task(3))
    assert torch.equal(other.value(params), penalty.value(params))


def test_channels_last_is_the_same_and_stays():
    shapes = {'conv': (4, 3, 3, 3)}
    tasks = [make_task(t, shapes) for t in range(3)]
    last = [tuple({n: v.to(memory_format=torch.channels_last)
                   for n, v in part.items()} for part in task)
            for task in tasks]
    params = [nn.Parameter(tasks[0][1]['conv'] + .1),
              nn.Parameter(last[0][1]['conv'] + .1)]
    for param, steps in zip(params, (tasks, last), strict=True):
        param.grad = torch.zeros_like(param)
        build(steps, [1., 2., 3.]).add_gradient_({'conv': param})
    assert torch.equal(params[0].grad, params[1].grad)
    assert params[1].grad.is_contiguous(memory_format=torch.channels_last)


def test_empty_penalty_does_nothing():
    penalty, params = QuadraticPenalty(), make_params()
    assert penalty.value(params).item() == 0
    penalty.add_gradient_(params)
    penalty.proximal_(params, .1)
    assert all(p.grad is None for p in params.values())


def test_grown_parameters_are_refused():
    penalty = build([make_task(1)], [1.])
    grown = {'trunk.weight': nn.Parameter(torch.zeros(6, 3))}
    with pytest.raises(ValueError, match=r'\(6, 3\).*\(4, 3\)'):
        penalty.value(grown)
    with pytest.raises(ValueError, match='trunk.weight'):
        penalty.proximal_(grown, .1)
    with pytest.raises(ValueError, match='trunk.weight'):
        penalty.add(1., *make_task(2, {'trunk.weight': (6, 3)}))
    with pytest.raises(ValueError, match='trunk.weight'):
        penalty.check({**make_params(), **grown})


def test_check_finds_absent_names():
    penalty = build([make_task(1)], [1.])
    penalty.check(make_params())
    prefixed = {f'module.{n}': p for n, p in make_params().items()}
    with pytest.raises(KeyError, match='module'):
        penalty.check(prefixed)


@pytest.mark.parametrize('weight, importance, anchor, error', [
    (-1., torch.ones(2), torch.ones(2), ValueError),
    (float('nan'), torch.ones(2), torch.ones(2), ValueError),
    (1., -torch.ones(2), torch.ones(2), ValueError),
    (1., torch.full((2, ), float('nan')), torch.ones(2), ValueError),
    (1., torch.ones(2), torch.ones(3), ValueError),
])
def test_bad_tasks(weight, importance, anchor, error):
    with pytest.raises(error):
        QuadraticPenalty().add(weight, {'w': importance}, {'w': anchor})


def test_importance_without_anchor_and_bad_decay():
    with pytest.raises(KeyError, match='no anchor'):
        QuadraticPenalty().add(1., {'w': torch.ones(2)}, {})
    with pytest.raises(ValueError, match='decay'):
        QuadraticPenalty().add_online(1., *make_task(1), decay=-1.)
