"""Accuracy by task, against loops over the samples."""
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from mmpretrain.structures import DataSample

from mmseg_spwc.evaluation.accuracy import (
    TaskAccuracy,
    count_hits,
)
from mmseg_spwc.structures import BatchSamples

SCENARIO = dict(
    problem='classification', dataset='toy', kind='domain', num_classes=4,
    steps=[['p0'], ['p1'], ['p2']], permute=True)
SAMPLES = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 3), st.integers(0, 3)),
    min_size=1, max_size=30)


def batch_of(samples: list) -> BatchSamples:
    """Samples given as (task, label, prediction)."""
    tasks, labels, predictions = torch.tensor(samples).T
    scores = torch.eye(4)[predictions] * 0.7 + 0.075
    return BatchSamples(labels, tasks, scores)


def singles_of(batch: BatchSamples) -> list:
    """The samples as MMPretrain's model and evaluator hand them on."""
    result = []
    for label, task, score in zip(batch.gt_label, batch.task,
                                  batch.pred_score, strict=True):
        sample = DataSample().set_gt_label(int(label))
        sample.set_field(int(task), 'task')
        sample.set_pred_score(score).set_pred_label(score.argmax())
        result.append(sample.to_dict())
    return result


def scores(parts: list, step: int = 2) -> dict:
    metric = TaskAccuracy(SCENARIO, step)
    for part in parts:
        metric.process({}, part)
    return metric.evaluate(size=sum(map(len, parts)))


def every_task(samples: list) -> list:
    """Add a hit of every task, so that each has a sample."""
    return [*samples, (0, 1, 1), (1, 2, 2), (2, 3, 3)]


@settings(deadline=None, max_examples=40)
@given(SAMPLES)
def test_counts_by_loop(samples):
    samples = every_task(samples)
    hits, counts = [0, 0, 0], [0, 0, 0]
    for task, label, prediction in samples:
        hits[task] += label == prediction
        counts[task] += 1
    found = scores([[batch_of(samples)]])
    by_task = [h / c for h, c in zip(hits, counts, strict=True)]
    assert found == pytest.approx({
        'accuracy': sum(by_task) / 3,
        'accuracy.all': sum(hits) / len(samples),
        **{f'accuracy.task_{t}': a for t, a in enumerate(by_task)}
    })
    tasks, labels, predictions = torch.tensor(samples).T
    assert count_hits(tasks, labels == predictions, 4).tolist() == [
        [*hits, 0], [*counts, 0]]


@settings(deadline=None, max_examples=20)
@given(SAMPLES, st.integers(1, 5))
def test_samples_batches_and_their_cuts_give_the_same(samples, size):
    samples = every_task(samples)
    whole = scores([[batch_of(samples)]])
    cuts = [[batch_of(samples[i:i + size])]
            for i in range(0, len(samples), size)]
    assert scores(cuts) == whole
    assert scores([singles_of(batch_of(samples))]) == whole
    assert scores([singles_of(part) for part, in cuts]) == whole


def test_the_next_evaluation_starts_afresh():
    metric = TaskAccuracy(SCENARIO, 0)
    for prediction, expected in ((1, 1.), (2, 0.)):
        metric.process({}, [batch_of([(0, 1, prediction)])])
        assert metric.evaluate(1)['accuracy'] == expected


def test_a_task_without_samples_is_an_error():
    with pytest.raises(ValueError, match='Task 1 has no sample'):
        scores([[batch_of([(0, 1, 1), (2, 0, 0)])]])
    with pytest.raises(ValueError, match='Task 0 has no sample'):
        scores([])
