"""Sequences whose tasks are unequal, on generated files and on the digits."""
import numpy as np
import pytest
from digit_runs import CONFIGS, digits, train  # noqa: F401
from mmengine.config import Config
from sklearn.datasets import load_digits
from tiny_data import write_idx

METHODS = {
    'finetune': ('finetune', ),
    'ewc': ('ewc', ),
    'ewc-spwc': ('ewc', 'spwc'),
    'mas': ('mas', ),
    'mas-spwc': ('mas', 'spwc'),
}


@pytest.fixture(scope='module')
def two_sets(tmp_path_factory):
    """Digits in IDX files, and the same under noise as another dataset."""
    root = tmp_path_factory.mktemp('sets')
    images, labels = load_digits(return_X_y=True)
    images = (images.reshape(-1, 8, 8) * 15).astype(np.uint8)
    rng = np.random.default_rng(0)
    noisy = rng.integers(0, 256, images.shape) // 2 + images // 2
    for folder, pixels in (('mnist', images), ('fashion-mnist', noisy)):
        write_idx(root / folder, 'train', pixels[:1200], labels[:1200])
        write_idx(root / folder, 't10k', pixels[1200:], labels[1200:])
    return root


@pytest.mark.parametrize('method', METHODS)
def test_data_sets_in_turn(tmp_path, two_sets, method):
    base = CONFIGS / '_base_'
    leaf = tmp_path / 'leaf.py'
    leaf.write_text('_base_ = ' + repr([
        str(base / 'settings/mlp_permuted-mnist-fashion.py'),
        *(str(base / f'methods/{name}.py') for name in METHODS[method])]))
    cfg = Config.fromfile(leaf)
    cfg.merge_from_dict({
        'work_dir': str(tmp_path / 'run'), 'experiment_name': str(tmp_path),
        'data_root': str(two_sets), 'scenario.name': '4',
        'train_cfg.max_epochs': 3, 'total_batch_size': 32,
        'model.backbone.in_features': 144, 'model.backbone.hidden': (48, 48),
        'model.head.in_channels': 48})
    if method == 'mas-spwc':
        cfg.merge_from_dict(
            {'method.every.hooks.consolidation.form': 'per_step'})
    record = train(cfg)
    assert [s['images'] for s in record.steps] == [
        dict(train=960, heldout=240 * t, test=597 * t) for t in range(1, 5)]
    learnt = [s['accuracy_by_step'][-1] for s in record.steps]
    assert min(learnt[::2]) > max(learnt[1::2])  # clear and noisy in turn
    if 'spwc' in method:
        v = record.steps[3]['priority']['v']
        assert max(v) > 0 and v[1] > v[0]  # the harder one is held


def test_rising_noise(tmp_path):
    cfg = digits(tmp_path / 'run', 'ewc-spwc', **{
        'scenario.name': '4', 'scenario.noise': 1.2,
        'train_cfg.max_epochs': 8})
    record = train(cfg)
    assert record.content['scenario']['name'] == '4-noise1.2'
    learnt = [s['accuracy_by_step'][-1] for s in record.steps]
    assert learnt[0] > learnt[2] > learnt[3]
    plain = train(digits(tmp_path / 'plain', 'ewc-spwc', **{
        'scenario.name': '4', 'train_cfg.max_epochs': 8}))
    first = [r.steps[0]['accuracy_by_step'] for r in (record, plain)]
    assert first[0] == first[1]  # step 0 has no noise
    assert plain.steps[3]['accuracy_by_step'][-1] > learnt[3]
