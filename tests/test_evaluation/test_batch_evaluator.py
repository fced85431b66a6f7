"""Metrics of whole batches beside MMPretrain's own."""
import pytest
import torch
from mmengine.evaluator import Evaluator
from mmengine.registry import init_default_scope

import mmseg_spwc.classification  # noqa: F401
from mmseg_spwc.registry import EVALUATOR
from mmseg_spwc.structures import BatchSamples

SCENARIO = dict(
    problem='classification', dataset='toy', kind='task', num_classes=4,
    steps=[[0, 1], [2, 3]])
OURS = dict(type='mmseg_spwc.TaskAccuracy', scenario=SCENARIO, step=1)
THEIRS = [dict(type='Accuracy', topk=(1, 2)),
          dict(type='SingleLabelMetric', items=('recall', ))]
BATCHES = 3


@pytest.fixture(autouse=True)
def mmpretrain_scope():
    init_default_scope('mmpretrain')


def batches() -> list:
    generator = torch.Generator().manual_seed(0)
    labels = torch.randint(4, (BATCHES, 10), generator=generator)
    scores = torch.rand(BATCHES, 10, 4, generator=generator).softmax(-1)
    return [BatchSamples(y, y // 2, p)
            for y, p in zip(labels, scores, strict=True)]


def evaluated(metrics: list, samples: list) -> dict:
    evaluator = EVALUATOR.build(
        dict(type='mmseg_spwc.BatchEvaluator', metrics=metrics))
    for item in samples:
        evaluator.process(item)
    return evaluator.evaluate(10 * BATCHES)


def test_mmpretrains_metrics_beside_ours():
    together = evaluated([OURS, *THEIRS], [[b] for b in batches()])
    expected = Evaluator(THEIRS)
    for batch in batches():
        expected.process(list(batch))
    expected = expected.evaluate(10 * BATCHES)
    alone = evaluated([OURS], [[b] for b in batches()])
    assert together == {**alone, **expected}
    hits = [bool(p.argmax() == y) for b in batches()
            for y, p in zip(b.gt_label, b.pred_score, strict=True)]
    share = sum(hits) / len(hits)
    assert 0 < share < 1
    assert together['accuracy.all'] == share
    assert together['accuracy/top1'] == pytest.approx(100 * share)


def test_single_samples_pass_as_they_are():
    whole = evaluated([OURS, *THEIRS], [[b] for b in batches()])
    assert evaluated([OURS, *THEIRS], [list(b) for b in batches()]) == whole


def test_metrics_are_kept_when_one_fails():
    evaluator = EVALUATOR.build(
        dict(type='mmseg_spwc.BatchEvaluator', metrics=[OURS, *THEIRS]))
    before = list(evaluator.metrics)
    with pytest.raises(AttributeError):
        evaluator.process([BatchSamples(torch.tensor([0]),
                                        torch.tensor([0]))])
    assert evaluator.metrics == before
