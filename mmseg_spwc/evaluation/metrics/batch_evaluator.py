"""Lets metrics of whole batches and of single samples work together."""
from collections.abc import Sequence
from typing import Any

from mmengine.evaluator import Evaluator

from mmseg_spwc.registry import EVALUATOR
from mmseg_spwc.structures import BatchSamples


@EVALUATOR.register_module()
class BatchEvaluator(Evaluator):
    """``Evaluator`` that takes a batch apart only for those who need it.

    A classifier of small images returns the samples of a batch as one
    :class:`BatchSamples`. Metrics with ``whole_batches`` get it as it is;
    for others, such as MMPretrain's, it is taken apart into samples.
    """

    def process(self,
                data_samples: Sequence,
                data_batch: Any | None = None) -> None:
        everyone = self.metrics
        whole = [
            m for m in everyone if getattr(m, 'whole_batches', False)
        ]
        try:
            self.metrics = whole
            super().process(data_samples, data_batch)
            self.metrics = [m for m in everyone if m not in whole]
            if self.metrics:
                super().process(_apart(data_samples), data_batch)
        finally:
            self.metrics = everyone


def _apart(data_samples: Sequence) -> list:
    samples = []
    for item in data_samples:
        samples.extend(item if isinstance(item, BatchSamples) else [item])
    return samples
