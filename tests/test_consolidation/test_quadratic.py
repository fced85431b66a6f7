import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from quadratic_tasks import build, loop_value, make_params, make_task
from torch import nn

from mmseg_spwc.consolidation import QuadraticPenalty, quadratic
from mmseg_spwc.selfpaced import priority_weights

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
    assert penalty.largest_safe_weight(1.) == pytest.approx(2 / 6)
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


def test_many_steps_at_once_are_the_same_as_one_by_one(monkeypatch):
    monkeypatch.setattr(quadratic, 'GROUP', 3)
    tasks = [make_task(t) for t in range(7)]
    tasks[4][0].pop('scale')  # a step without one of the parameters
    weights = [1., .3, 0., 2., 5., .1, 1.]
    one_by_one, at_once = build(tasks, weights), QuadraticPenalty()
    at_once.add_all((w, *task) for w, task in zip(weights, tasks, strict=True))
    states = [p.state_dict() for p in (one_by_one, at_once)]
    assert states[0].pop('constant') == pytest.approx(
        states[1].pop('constant').item(), rel=1e-14)
    assert all(torch.equal(v, states[1][k]) for k, v in states[0].items())


def test_many_steps_are_read_a_few_at_a_time():
    taken = []

    def steps():
        for t in range(100):
            taken.append(t)
            if t == 50:
                raise OSError('the disk is gone')
            yield 1., *make_task(t)

    with pytest.raises(OSError, match='gone'):
        QuadraticPenalty().add_all(steps())
    assert taken[-1] == 50 and quadratic.GROUP < 50


def test_proximal_steps_follow_rate_groups_and_new_tasks():
    penalty, params = build([make_task(1)], [3.]), make_params()
    names = list(params)
    for lr, group in ((.1, names), (.1, names), (.2, names), (.2, names[:1]),
                      (.2, names[1:]), (.3, names[:1]), (.1, None)):
        if group is None:
            penalty.add(.5, *make_task(2))
        moved = {name: params[name] for name in group or names}
        anew = QuadraticPenalty()  # which has nothing to remember
        anew.load_state_dict(penalty.state_dict())
        expected = {n: p.detach().clone() for n, p in moved.items()}
        anew.proximal_(expected, lr, .9)
        penalty.proximal_(moved, lr, .9)
        assert all(torch.equal(expected[n], p) for n, p in moved.items())
