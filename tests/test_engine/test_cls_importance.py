"""Importances of a classifier's step, against one image at a time."""
import copy
import itertools

import pytest
import torch
from mmengine.config import Config
from mmengine.registry import init_default_scope
from mmengine.runner import Runner

from mmseg_spwc.config.step import scenario_of
from mmseg_spwc.engine import step_config
from mmseg_spwc.engine.hooks import ConsolidationHook

LEAF = 'configs/classification/ewc/ewc_mlp_permuted-digits.py'
HOOK = 'method.every.hooks.consolidation'
NUMBERS = itertools.count()


@pytest.fixture
def runner_of(tmp_path):
    """The second of two permuted tasks with a head each, on 72 digits."""
    init_default_scope('mmpretrain')

    def make(**options):
        cfg = Config.fromfile(LEAF)
        cfg.merge_from_dict({
            'work_dir': str(tmp_path / str(next(NUMBERS))),
            'experiment_name': f'importance_{next(NUMBERS)}',
            'scenario.name': '2',
            'scenario.heads': 'per_step',
            'heldout.ratio': 0.95,
            'total_batch_size': 32,
            'model.backbone.hidden': (16, 12),
            'model.backbone.dropout': 0.3,
            'model.head.in_channels': 12,
            **options
        })
        runner = Runner.from_cfg(step_config(cfg, scenario_of(cfg), 1))
        with torch.no_grad():  # far from uniform predictions
            for param in runner.model.parameters():
                param.mul_(2)
        return runner

    return make


def measured(runner) -> dict:
    runner.call_hook('after_train')
    hook = next(h for h in runner.hooks if isinstance(h, ConsolidationHook))
    return hook.store.load(1)[0]


def by_loop(runner, terms, power: int) -> dict:
    """Mean of |gradient| ** power over single images, in float64.

    Args:
        runner: Of the step.
        terms: Maps an image's logits and label to weighted objectives.
        power (int): 1 or 2.
    """
    dataset = runner.train_dataloader.dataset
    model = copy.deepcopy(runner.model).double().eval()
    trained = {n: p for n, p in model.named_parameters() if p.requires_grad}
    total = {n: torch.zeros_like(p) for n, p in trained.items()}
    assert len(dataset) == 72
    for index in range(len(dataset)):
        sample = dataset[index]
        x = sample['inputs'].double().flatten() / 255
        layers = (model.backbone.layers[0], model.backbone.layers[3])
        for layer in layers:
            x = (layer.weight @ x + layer.bias).clamp(min=0)
        head = model.head.fc.linears[1]
        label = int(sample['data_samples'].gt_label) - 10
        for weight, value in terms(head.weight @ x + head.bias, label):
            grads = torch.autograd.grad(
                value, list(trained.values()), retain_graph=True)
            for name, grad in zip(trained, grads, strict=True):
                total[name] += weight * grad.abs()**power / len(dataset)
    return {name: value.float() for name, value in total.items()}


def exact(logits, label):
    p = logits.softmax(0).detach()
    return [(p[y], logits.log_softmax(0)[y]) for y in range(10)]


FISHER = {
    'exact': exact,
    'empirical': lambda z, label: [(1, z.log_softmax(0)[label])],
    'max': lambda z, label: [(1, z.log_softmax(0).max())],
}


def assert_equal(found, wanted):
    assert found.keys() == wanted.keys()
    assert not any('linears.0' in name for name in found)  # frozen head
    for name, value in wanted.items():
        torch.testing.assert_close(
            found[name], value, rtol=1e-5, atol=1e-5 * value.max().item())


@pytest.mark.parametrize('labels', FISHER)
def test_fisher_is_that_of_single_images(runner_of, labels):
    runner = runner_of(**{f'{HOOK}.importance.labels': labels})
    assert_equal(measured(runner), by_loop(runner, FISHER[labels], 2))


def test_mas_is_that_of_single_images(runner_of):
    runner = runner_of(**{
        f'{HOOK}.importance': dict(
            _delete_=True, type='mmseg_spwc.MASImportance')})
    squares = by_loop(runner, lambda z, label: [(1, z.square().sum())], 1)
    assert_equal(measured(runner), squares)


def test_sampled_labels_have_the_exact_fisher_as_their_mean(runner_of):
    runner = runner_of(**{'heldout.ratio': 0.2})
    found = measured(runner)
    runner.hooks[:] = [h for h in runner.hooks
                       if not isinstance(h, ConsolidationHook)]
    hook = ConsolidationHook(
        dict(type='mmseg_spwc.FisherImportance', labels='exact'), 1.)
    runner.register_hook(hook)
    wanted = measured(runner)
    for name, value in wanted.items():
        ratio = found[name].sum() / value.sum()
        assert ratio.item() == pytest.approx(1, abs=0.15)
        pair = torch.stack([found[name].flatten(), value.flatten()])
        assert torch.corrcoef(pair)[0, 1] > 0.95


def test_measuring_leaves_no_trace(runner_of):
    runner = runner_of()
    optimiser = runner.build_optim_wrapper(runner.optim_wrapper)
    runner.optim_wrapper = optimiser
    params = [p for p in runner.model.parameters() if p.requires_grad]
    for param in params:
        param.grad = torch.ones_like(param)
    optimiser.optimizer.step()
    runner.model.train()
    before = copy.deepcopy(runner.model.state_dict())
    state = copy.deepcopy(optimiser.state_dict())
    random = torch.get_rng_state()
    measured(runner)
    assert torch.equal(torch.get_rng_state(), random)
    assert runner.model.training
    assert all((p.grad == 1).all() for p in params)
    after = runner.model.state_dict()
    assert all(torch.equal(after[k], v) for k, v in before.items())
    buffers = optimiser.state_dict()['state']
    assert buffers.keys() == state['state'].keys()
    for key, value in state['state'].items():
        assert torch.equal(buffers[key]['momentum_buffer'],
                           value['momentum_buffer'])
