"""IoU from exact counts, against a confusion matrix by loops."""
import math

import numpy as np
import pytest
import torch

from mmseg_spwc.evaluation.iou import (
    ContinualIoUMetric,
    group_means,
    step_means,
)


def sample(prediction, label, path='x.png'):
    return dict(
        pred_sem_seg=dict(data=torch.as_tensor(prediction)[None]),
        gt_sem_seg=dict(data=torch.as_tensor(label)[None]), img_path=path)


def metric(step=1, **scenario):
    scenario = scenario or dict(
        dataset='mine', num_classes=5, steps=[[1, 2], [3, 4]], name='m')
    return ContinualIoUMetric(scenario, step)


def brute_force(pairs, classes):
    matrix = np.zeros((classes, classes), dtype=int)
    for prediction, label in pairs:
        for p, g in zip(prediction.ravel(), label.ravel(), strict=True):
            if g != 255:
                matrix[g, p] += 1
    hits = np.diag(matrix)
    union = matrix.sum(0) + matrix.sum(1) - hits
    return matrix, hits, union


def test_against_a_confusion_matrix():
    rng = np.random.default_rng(0)
    pairs = []
    for _ in range(3):
        label = rng.integers(0, 4, (9, 7))  # class 4 is never there
        label[0] = 255
        pairs.append((rng.integers(0, 5, (9, 7)), label))
    made = metric()
    made.dataset_meta = dict(classes=('bg', 'a', 'b', 'c', 'd'))
    made.process({}, [sample(*pair) for pair in pairs])
    result = made.evaluate(3)
    matrix, hits, union = brute_force(pairs, 5)
    for i, name in enumerate(('bg', 'a', 'b', 'c')):
        assert math.isclose(result[f'IoU.{name}'], hits[i] / union[i])
    assert math.isnan(result['IoU.d'])
    assert math.isclose(result['mIoU'], np.mean(hits[:4] / union[:4]))
    assert math.isclose(result['aAcc'], hits.sum() / matrix.sum(),
                        rel_tol=1e-6)


def test_counts_beyond_float32_stay_exact():
    made = metric()
    made.dataset_meta = dict(classes=('bg', 'a', 'b', 'c', 'd'))
    big = torch.zeros((3, 5), dtype=torch.int64)
    big[:, 0] = 2**24
    one = torch.zeros((3, 5), dtype=torch.int64)
    one[1:, 0] = 1
    one[0, 0] = 0
    result = made.compute_metrics([(0, big), *[(0, one)] * 8])
    assert math.isclose(result['IoU.bg'], 2**24 / (2**24 + 16), rel_tol=0,
                        abs_tol=1e-12)


def test_domains_are_scored_apart():
    scenario = dict(
        dataset='streets', num_classes=2, kind='domain', name='d',
        domain_pattern=r'^([a-z]+)_', steps=[['aachen'], ['bremen']])
    made = metric(1, **scenario)
    made.dataset_meta = dict(classes=('road', 'car'))
    right = np.array([[0, 1]])
    made.process({}, [
        sample(right, right, 'x/aachen_1.png'),
        sample(1 - right, right, 'x/bremen_1.png')
    ])
    result = made.evaluate(2)
    assert result['mIoU.step_0'] == 1 and result['mIoU.step_1'] == 0
    assert math.isclose(result['mIoU'], 1 / 3)


def test_what_masks_do_not_tell_from_background_is_not_counted():
    """Two test sets: of the second, class 1 is background in the masks."""
    rng = np.random.default_rng(0)
    pairs = rng.integers(0, 3, (2, 2, 8, 8))  # set, prediction and truth
    pairs[1, 1][pairs[1, 1] == 1] = 0
    scenario = dict(dataset='mine', steps=[
        dict(classes=['a']), dict(classes=['b'], data=dict(
            train=dict(x=1), test=dict(x=1), labels=dict(b=7)))])
    made = metric(1, **scenario)
    made.dataset_meta = dict(classes=('background', 'a', 'b'))
    made.process({}, [
        dict(sample(*pairs[s]), test_set=s, unlabelled=(1, ) * s)
        for s in (0, 1)])
    result = made.evaluate(2)
    count = np.zeros((2, 3, 3))  # set, truth, predicted
    for s, truth, guess in zip(
            np.repeat([0, 1], 64), pairs[:, 1].ravel(), pairs[:, 0].ravel(),
            strict=True):
        count[s, truth, guess] += not (s == 1 and truth == 0 and guess == 1)

    def iou(table, c):
        both = table[c].sum() + table[:, c].sum() - table[c, c]
        return table[c, c] / both if table[c].sum() else math.nan

    for c, name in enumerate(made.dataset_meta['classes']):
        for key, table in (('', count.sum(0)), ('.set_0', count[0]),
                           ('.set_1', count[1])):
            assert result[f'IoU.{name}{key}'] == pytest.approx(
                iou(table, c), nan_ok=True)


def test_group_means_with_and_without_background():
    means = group_means([0.9, 0.5, None, 0.1, 0.3], 3)
    assert means == pytest.approx(dict(
        base=0.7, base_no_bg=0.5, new=0.2, all=0.45, all_no_bg=0.3))
    assert group_means([0.9, 0.5], 2)['new'] is None


def test_without_a_background_every_channel_is_a_class():
    means = group_means([0.9, 0.5, 0.1], 2, background=False)
    assert means['base_no_bg'] == means['base'] == pytest.approx(0.7)
    assert means['all_no_bg'] == means['all'] == pytest.approx(0.5)


def test_published_means_come_out():
    """RCIL's shipped 10-1 overlapped row: 34.13 overall, 50.3 and 16.4."""
    row = [61.6, 75.0, 32.3, 42.8, 44.9, 70.4, 72.0, 85.3, 56.8, 11.3, 0.3,
           16.8, 23.4, 0.1, 27.4, 65.2, 6.4, 1.9, 7.6, 11.8, 3.5]
    means = group_means([v / 100 for v in row], 11)
    assert means['all'] == pytest.approx(0.3413, abs=1e-3)
    assert means['base'] == pytest.approx(0.503, abs=1e-3)
    assert means['new'] == pytest.approx(0.164, abs=1e-3)


def test_step_means():
    assert step_means([0.5, 0.7, 0.2, None], [0, 0, 1, 2]) == \
        pytest.approx([0.6, 0.2, None])
