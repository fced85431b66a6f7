import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from mmseg_spwc.consolidation import QuadraticPenalty
from mmseg_spwc.selfpaced import priority_weights

SHAPES = {'trunk.weight': (4, 3), 'trunk.bias': (4, ), 'scale': ()}


def make_task(seed, shapes=SHAPES, dtype=torch.float32):
    gen = torch.Generator().manual_seed(seed)
    importances = {
        n: torch.rand(s, generator=gen, dtype=dtype) for n, s in shapes.items()
    }
    anchors = {
        n: torch.randn(s, generator=gen, dtype=dtype)
        for n, s in shapes.items()
    }
    return importances, anchors


def make_params(seed=99, dtype=torch.float64):
    _, values = make_task(seed, dtype=dtype)
    return {n: nn.Parameter(v) for n, v in values.items()}


def loop_value(tasks, weights, params):
    """The definition, task by task and number by number."""
    total = 0.
    for weight, (importances, anchors) in zip(weights, tasks, strict=True):
        for name in importances:
            numbers = zip(
                importances[name].double().flatten().tolist(),
                anchors[name].double().flatten().tolist(),
                params[name].detach().double().flatten().tolist(),
                strict=True)
            total += sum(weight * g * (p - a)**2 for g, a, p in numbers)
    return total


def build(tasks, weights):
    penalty = QuadraticPenalty()
    for weight, task in zip(weights, tasks, strict=True):
        penalty.add(weight, *task)
    return penalty


weight_lists = st.lists(st.floats(0, 100), min_size=1, max_size=6)


@settings(deadline=None, max_examples=25)
@given(weight_lists, st.integers(0, 1000))
def test_value_is_the_sum_over_tasks(weights, seed):
    tasks = [make_task(seed + t) for t in range(len(weights))]
    params = make_params()
    value = build(tasks, weights).value(params)
    assert value.item() == pytest.approx(loop_value(tasks, weights, params))


@settings(deadline=None, max_examples=25)
@given(weight_lists, st.integers(0, 1000))
def test_gradient_is_that_of_a_loop_over_tasks(weights, seed):
    tasks = [make_task(seed + t) for t in range(len(weights))]
    params, looped = make_params(), make_params()
    for group in (params, looped):
        sum((p**3).sum() for p in group.values()).backward()
    loss = sum(
        w * (g[n] * (looped[n] - a[n])**2).sum()
        for w, (g, a) in zip(weights, tasks, strict=True) for n in looped)
    loss.backward()
    build(tasks, weights).add_gradient_(params.items())
    for name in params:
        torch.testing.assert_close(params[name].grad, looped[name].grad)


def test_value_is_differentiable_and_agrees_with_the_injection():
    penalty = build([make_task(1), make_task(2)], [.5, 2.])
    by_loss, injected = make_params(), make_params()
    penalty.value(by_loss).backward()
    for param in injected.values():
        param.grad = torch.zeros_like(param)
    penalty.add_gradient_(injected)
    for name in injected:
        torch.testing.assert_close(injected[name].grad, by_loss[name].grad)


def test_single_precision_is_accurate():
    tasks = [make_task(t) for t in range(9)]
    params = make_params(dtype=torch.float32)
    value = build(tasks, [30.] * 9).value(params)
    assert value.dtype == torch.float32
    assert value.item() == pytest.approx(
        loop_value(tasks, [30.] * 9, params), rel=1e-6)


def test_infinite_age_is_ewc_and_no_age_is_finetuning_bit_for_bit():
    tasks = [make_task(t) for t in range(3)]
    psi, lam = [.2, .9, .6], 100.
    results = {}
    for label, v in (('ewc', [1., 1., 1.]),
                     ('inf', priority_weights(psi, mu=float('inf')).tolist()),
                     ('zero', priority_weights(psi, mu=0.).tolist()),
                     ('finetune', None)):
        params = make_params(dtype=torch.float32)
        sum((p**2).sum() for p in params.values()).backward()
        if v is not None:
            build(tasks, [lam / 2 * x for x in v]).add_gradient_(params)
        results[label] = [p.grad for p in params.values()]
    assert all(map(torch.equal, results['inf'], results['ewc']))
    assert all(map(torch.equal, results['zero'], results['finetune']))
    assert not all(map(torch.equal, results['ewc'], results['finetune']))


@pytest.mark.parametrize('momentum', [0., .9])
def test_proximal_step_minimises_its_objective(momentum):
    tasks, weights, lr = [make_task(1), make_task(2)], [3., .5], .1
    penalty, params = build(tasks, weights), make_params()
    start = {n: p.detach().clone() for n, p in params.items()}
    penalty.proximal_(params, lr, momentum)
    step = lr / (1 - momentum)
    for name, param in params.items():
        moved = param.detach().requires_grad_()
        objective = penalty.value({name: moved}) + (
            (moved - start[name])**2).sum() / (2 * step)
        gradient, = torch.autograd.grad(objective, moved)
        torch.testing.assert_close(
            gradient, torch.zeros_like(gradient), atol=1e-9, rtol=0)


def test_proximal_step_with_a_huge_weight_lands_on_the_centre():
    importances, anchors = make_task(1)
    params = make_params(dtype=torch.float32)
    build([(importances, anchors)], [1e12]).proximal_(params, .1)
    for name, param in params.items():
        torch.testing.assert_close(param.detach(), anchors[name])


def test_unimportant_coordinates_do_not_move():
    importances = {'w': torch.tensor([0., 1.])}
    penalty = build([(importances, {'w': torch.tensor([5., 5.])})], [10.])
    w = nn.Parameter(torch.tensor([.1, .1]))
    w.grad = torch.tensor([.3, .3])
    penalty.add_gradient_({'w': w})
    assert w.grad.tolist() == pytest.approx([.3, .3 + 20 * (.1 - 5)])
    penalty.proximal_({'w': w}, lr=1.)
    assert w[0].item() == torch.tensor(.1).item()


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
    penalty.add(1., *make_task(2))
    assert penalty.value(params).item() != before


def test_cost_does_not_grow_with_the_number_of_tasks():
    few, many = build([make_task(0)], [1.]), QuadraticPenalty()
    for t in range(20):
        many.add(1., *make_task(t))
    sizes = [{k: v.shape for k, v in p.state_dict().items()}
             for p in (few, many)]
    assert sizes[0] == sizes[1]


def test_stability_limit_is_where_heavy_ball_diverges():
    penalty = QuadraticPenalty()
    penalty.add(3., {'w': torch.tensor([1., .2])}, {'w': torch.zeros(2)})
    assert penalty.max_curvature() == pytest.approx(6.)
    lr, momentum = .1, .9
    factor = penalty.largest_safe_weight(lr, momentum)
    assert factor == pytest.approx(3.8 / .6)
    for scale, grows in ((.99, False), (1.01, True)):
        trial = QuadraticPenalty()
        trial.add(3. * factor * scale, {'w': torch.ones(1)},
                  {'w': torch.zeros(1)})
        w = nn.Parameter(torch.ones(1, dtype=torch.float64))
        optimizer = torch.optim.SGD([w], lr=lr, momentum=momentum)
        for _ in range(3000):
            w.grad = torch.zeros_like(w)
            trial.add_gradient_({'w': w})
            optimizer.step()
        assert (w.abs().item() > 1) == grows
    assert QuadraticPenalty().largest_safe_weight(.1) == float('inf')


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
