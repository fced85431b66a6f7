"""The consolidation hook on one step, against loops over single images."""
import logging

import pytest
import torch
from mmengine.config import Config
from mmengine.runner import Runner
from torch.nn import functional

from mmseg_spwc.consolidation import ProximalUpdate, StepStore
from mmseg_spwc.engine import step_config
from mmseg_spwc.engine.hooks import ConsolidationHook
from mmseg_spwc.engine.hooks.consolidation_hook import KEY
from mmseg_spwc.engine.step_data import StepData
from mmseg_spwc.errors import ConfigError
from mmseg_spwc.scenario import build_scenario

METHODS = 'configs/_base_/methods'


@pytest.fixture
def runner_of(tiny_config):
    """Build a step's runner without training it."""

    def make(method='ewc', step=0, **hook):
        cfg = tiny_config()
        cfg.method = Config.fromfile(f'{METHODS}/{method}.py').method
        cfg.method.every.hooks.consolidation.update(hook)
        scenario = build_scenario(cfg.scenario.to_dict())
        return Runner.from_cfg(step_config(cfg, scenario, step))

    return make


def hook_of(runner):
    return next(h for h in runner.hooks if isinstance(h, ConsolidationHook))


def images_of(runner):
    """Every training image alone, with its labels at the logits' size."""
    loader, model = runner.train_dataloader, runner.model
    for i in range(len(loader.dataset)):
        data = model.data_preprocessor(
            loader.collate_fn([loader.dataset[i, 0]]), training=True)
        logits = model(data['inputs'], mode='tensor')  # (1, C, h, w)
        mask = data['data_samples'][0].gt_sem_seg.data[0]  # (H, W)
        rows, columns = (
            torch.arange(small) * large // small
            for small, large in zip(logits.shape[2:], mask.shape,
                                    strict=True))
        yield logits, mask[rows][:, columns][None].long()


def mean_statistic(runner, objective, statistic):
    """Average of a statistic of each image's gradient, one at a time."""
    model, total, count = runner.model.eval(), {}, 0
    for logits, labels in images_of(runner):
        model.zero_grad()
        objective(logits, labels).backward()
        for name, param in model.named_parameters():
            if param.grad is not None:
                total[name] = total.get(name, 0.) + statistic(param.grad)
        count += 1
    model.train().zero_grad()
    return {name: value / count for name, value in total.items()}


OBJECTIVES = {
    'empirical': lambda z, y: functional.cross_entropy(
        z, y, ignore_index=255, reduction='sum'),
    'max': lambda z, y: functional.cross_entropy(
        z, z.argmax(1), reduction='sum'),
}


def test_importances_may_be_stored_in_half_the_space(runner_of):
    runner = runner_of(importance_dtype='bfloat16')
    runner.call_hook('after_train')
    importances, anchors = hook_of(runner).store.load(0)
    assert {t.dtype for t in importances.values()} == {torch.bfloat16}
    assert {t.dtype for t in anchors.values()} == {torch.float32}


@pytest.mark.parametrize('labels', OBJECTIVES)
def test_stored_fisher_is_the_mean_over_single_images(runner_of, labels):
    runner = runner_of(importance=dict(
        type='mmseg_spwc.FisherImportance', labels=labels))
    runner.call_hook('after_train')
    store = hook_of(runner).store
    assert store.steps() == [0]
    found, anchors = store.load(0)
    wanted = mean_statistic(runner, OBJECTIVES[labels], torch.square)
    params = dict(runner.model.named_parameters())
    assert found.keys() == params.keys()
    for name, value in found.items():
        scale = wanted[name].max()
        assert torch.allclose(value, wanted[name], rtol=1e-3,
                              atol=1e-4 * scale), name
        assert torch.equal(anchors[name], params[name])


def test_stored_mas_is_the_mean_over_single_images(runner_of):
    runner = runner_of('mas')
    runner.call_hook('after_train')
    found, _ = hook_of(runner).store.load(0)
    wanted = mean_statistic(runner, lambda z, y: z.square().sum(), torch.abs)
    for name, value in found.items():
        assert torch.allclose(value, wanted[name], rtol=1e-3,
                              atol=1e-4 * wanted[name].max()), name


def test_measuring_again_gives_the_same_and_leaves_no_trace(runner_of):
    runner = runner_of(n_samples=5, exclude=['bn', 'conv_seg'])
    hook, state = hook_of(runner), torch.get_rng_state()
    before = {k: v.clone() for k, v in runner.model.state_dict().items()}
    runner.model.train()
    runner.call_hook('after_train')
    first, _ = hook.store.load(0)
    first = {name: value.clone() for name, value in first.items()}
    assert torch.equal(torch.get_rng_state(), state)
    assert runner.model.training
    after = runner.model.state_dict()
    assert all(torch.equal(after[k], v) for k, v in before.items())
    assert all(p.grad is None for p in runner.model.parameters())
    torch.rand(3)
    runner.call_hook('after_train')
    second, _ = hook.store.load(0)
    assert first and all(torch.equal(second[k], v) for k, v in first.items())
    assert not any('bn' in name or 'conv_seg' in name for name in first)


@pytest.mark.parametrize('sampler', [
    'mmseg_spwc.SeededSampler', 'mmseg_spwc.SeededInfiniteSampler'])
def test_every_image_is_seen_once(runner_of, sampler):
    runner = runner_of()
    config = dict(runner.cfg.train_dataloader, sampler=dict(type=sampler))
    loader = runner.build_dataloader(config, seed=3)
    data = StepData(loader, runner.model.eval())
    assert sorted(data.loader.sampler) == list(
        range(len(loader.dataset)))
    seen = sum(len(inputs) for inputs, _ in data.batches())
    assert seen == len(loader.dataset)


def keep_step_0(runner, shift=0.):
    """Store a step 0 whose parameters all matter alike."""
    params = {n: p.detach() for n, p in runner.model.named_parameters()}
    StepStore(f'{runner.work_dir}/../consolidation').save(
        0, {n: torch.ones_like(p) for n, p in params.items()},
        {n: p + shift for n, p in params.items()})
    runner.optim_wrapper = runner.build_optim_wrapper(runner.optim_wrapper)
    return params


def test_priorities_weight_the_steps_and_can_change(runner_of):
    runner = runner_of(step=1, strength=6.)
    params = keep_step_0(runner, shift=1.)
    hook = hook_of(runner)
    size = sum(p.numel() for p in params.values())
    hook.before_train(runner)
    for v in (1., .25):
        hook.set_priorities([v])
        value = hook.penalty.value(params).item()
        assert value == pytest.approx(6 / 2 * v * size, rel=1e-4)
    with pytest.raises(ValueError, match='2 priorities'):
        hook.set_priorities([1., 1.])
    with pytest.raises(ValueError, match='not negative'):
        hook.set_priorities([-1.])


def test_too_strong_a_gradient_update_is_announced(runner_of):
    runner = runner_of(step=1, strength=1e6, half=False, update='gradient')
    keep_step_0(runner)
    hook = hook_of(runner)
    messages = []
    handler = logging.Handler()
    handler.emit = lambda record: messages.append(record.getMessage())
    runner.logger.addHandler(handler)
    hook.before_train(runner)
    sgd = runner.cfg.optim_wrapper.optimizer
    assert (sgd.momentum, sgd.nesterov) == (0.9, True)
    limit = 3.8 / 2.8 / (2 * sgd.lr)  # lr * 2 lambda < 2 (1 + b) / (1 + 2 b)
    assert f'below {limit:.3g},' in messages[-1]
    hook.update = ProximalUpdate()
    hook.before_train(runner)
    assert len(messages) == 1


def test_mistakes_are_explained(runner_of):
    kwargs = dict(
        importance=dict(type='mmseg_spwc.MASImportance'), strength=1.)
    for change, message in (
        (dict(form='tasks'), 'last, online, per_step'),
        (dict(update='both'), 'gradient, proximal'),
        (dict(strength=-1.), 'strength'),
        (dict(importance=dict(type='kfac')), 'FisherImportance, MASImp')):
        with pytest.raises(ValueError, match=message):
            ConsolidationHook(**{**kwargs, **change})
    runner = runner_of(step=1)
    with pytest.raises(ConfigError, match='no importances of step 0'):
        hook_of(runner).before_train(runner)
    runner = runner_of()
    runner.optim_wrapper = object()
    with pytest.raises(ConfigError, match='object cannot consolidate'):
        hook_of(runner).before_train(runner)


def test_checkpoint_state_is_plain_tensors(runner_of, tmp_path):
    runner = runner_of('si')
    runner.optim_wrapper = runner.build_optim_wrapper(runner.optim_wrapper)
    hook, checkpoint = hook_of(runner), {}
    hook.before_train(runner)
    hook.before_save_checkpoint(runner, checkpoint)
    torch.save(checkpoint, tmp_path / 'x.pth')
    loaded = torch.load(tmp_path / 'x.pth', weights_only=True)
    assert any(key.startswith('omega.') for key in loaded[KEY])
    loaded[KEY] = {k: v + 1 for k, v in loaded[KEY].items()}
    hook.after_load_checkpoint(runner, loaded)
    hook.before_train(runner)
    state = hook.importance.state_dict()
    assert all(torch.equal(state[k], v) for k, v in loaded[KEY].items())
