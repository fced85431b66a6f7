"""Accuracy on every task of a sequence, counted by whole batches."""
from collections.abc import Sequence
from typing import Any

import torch
from mmengine.dist import all_reduce
from mmengine.evaluator import BaseMetric, Evaluator
from torch import Tensor

from mmseg_spwc.registry import EVALUATOR, METRICS
from mmseg_spwc.scenario import build_scenario
from mmseg_spwc.structures import BatchSamples


@METRICS.register_module()
class TaskAccuracy(BaseMetric):
    """Hits and samples of every task so far, counted exactly.

    ``accuracy.task_N`` is the share of hits on task N, ``accuracy`` their
    mean over the tasks (the paper's APA) and ``accuracy.all`` the share over
    all samples. Counts are added up over the processes; the loader must not
    repeat samples to fill the last batch.
    """

    # takes the samples of a batch as tensors, see BatchEvaluator
    whole_batches = True

    def __init__(self, scenario: dict, step: int, **kwargs) -> None:
        super().__init__(**kwargs)
        self.scenario = build_scenario(scenario)
        self.num_tasks = step + 1

    def process(self, data_batch: dict, data_samples: Sequence) -> None:
        for samples in data_samples:
            tasks, hits = _outcome(samples)
            self.results.append(
                count_hits(tasks, hits, self.num_tasks).cpu())

    def evaluate(self, size: int) -> dict:
        """Add up counts, where MMEngine would gather single samples and cut
        them to ``size``."""
        metrics = self.compute_metrics(self.results)
        self.results.clear()
        return metrics

    def compute_metrics(self, results: list) -> dict:
        empty = torch.zeros(2, self.num_tasks, dtype=torch.int64)
        total = torch.stack([empty, *results]).sum(0)  # (2, tasks)
        all_reduce(total)
        hits, counts = total.tolist()
        if 0 in counts and not self.scenario.data:
            raise ValueError(f'Task {counts.index(0)} has no sample to be '
                             'scored on: check the data of its split.')
        # a task whose data are gone has no score
        scores = [h / c if c else float('nan')
                  for h, c in zip(hits, counts, strict=True)]
        known = [s for s in scores if s == s]
        return {'accuracy': sum(known) / len(known),
                'accuracy.all': sum(hits) / sum(counts),
                **{f'accuracy.task_{t}': s for t, s in enumerate(scores)}}


@EVALUATOR.register_module()
class BatchEvaluator(Evaluator):
    """``Evaluator`` that takes a batch apart only for those who need it.

    A classifier of small images returns the samples of a batch as one
    :class:`BatchSamples`. Metrics with ``whole_batches`` get it as it is;
    for others, such as MMPretrain's, it is taken apart into samples.
    """

    def process(self, data_samples: Sequence,
                data_batch: Any | None = None) -> None:
        everyone = self.metrics
        whole = [m for m in everyone if getattr(m, 'whole_batches', False)]
        try:
            self.metrics = whole
            super().process(data_samples, data_batch)
            self.metrics = [m for m in everyone if m not in whole]
            if self.metrics:
                super().process(_apart(data_samples), data_batch)
        finally:
            self.metrics = everyone


def count_hits(tasks: Tensor, hits: Tensor, num_tasks: int) -> Tensor:
    """Hits and samples of every task, int64 (2, T), from the task of every
    sample (B,) and whether each was classified right (B,)."""
    return torch.stack([
        torch.bincount(tasks[hits], minlength=num_tasks),
        torch.bincount(tasks, minlength=num_tasks)
    ])


def _outcome(samples: BatchSamples | dict) -> tuple[Tensor, Tensor]:
    """Tasks and hits of a batch, or of one sample in MMPretrain's form."""
    if isinstance(samples, BatchSamples):
        hits = samples.pred_score.argmax(1) == samples.gt_label
        return samples.task, hits
    label = samples['gt_label'].reshape(-1)
    hits = samples['pred_score'].argmax().reshape(-1) == label
    return torch.as_tensor(samples['task'], device=label.device).reshape(
        -1), hits


def _apart(data_samples: Sequence) -> list:
    samples = []
    for item in data_samples:
        samples.extend(item if isinstance(item, BatchSamples) else [item])
    return samples
