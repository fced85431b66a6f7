"""IoU of every class at one step, and its means over groups of classes."""
from collections.abc import Sequence

import torch
from mmengine.evaluator import BaseMetric
from torch import Tensor

from mmseg_spwc.labels import VOID
from mmseg_spwc.registry import METRICS
from mmseg_spwc.scenario import build_scenario, domain_of


@METRICS.register_module()
class ContinualIoUMetric(BaseMetric):
    """IoU of every seen class, over one confusion count of the whole set.

    IoU_c = TP / (GT + predicted - TP). A class that the ground truth does not
    hold has no IoU and is left out of the mean. Counts are exact integers,
    so the result does not depend on the number of processes; MMEngine drops
    the samples that a distributed sampler adds as padding.

    All values are fractions. For a domain-incremental scenario the mean IoU
    of the domains of every step is given as well, and for steps with data of
    their own all of it for each test set apart. Where the masks of one do not
    tell a class from background, background that is predicted as that class
    is not counted. ``scenario`` and ``step`` come from the config of a step.
    """

    def __init__(self, scenario: dict, step: int, ignore_index: int = VOID,
                 collect_device: str = 'cpu',
                 prefix: str | None = None) -> None:
        super().__init__(collect_device=collect_device, prefix=prefix)
        self.scenario = build_scenario(scenario)
        self.num_classes = self.scenario.num_channels(step)
        self.ignore_index = ignore_index

    def process(self, data_batch: dict, data_samples: Sequence[dict]) -> None:
        for sample in data_samples:
            prediction = sample['pred_sem_seg']['data'].squeeze(0)
            label = sample['gt_sem_seg']['data'].squeeze(0)
            label = label.to(prediction.device)
            for channel in sample.get('unlabelled', ()):
                unknown = (label == 0) & (prediction == channel)
                label = label.masked_fill(unknown, self.ignore_index)
            counts = count_areas(prediction, label, self.num_classes,
                                 self.ignore_index)
            self.results.append((self._unit(sample), counts.cpu()))

    def compute_metrics(self, results: list) -> dict:
        total = sum(counts for _, counts in results)  # (3, C)
        iou = intersection_over_union(*total.tolist())
        accuracy = [hit / present if present else None
                    for hit, present in zip(*total[:2].tolist(), strict=True)]
        names = self.dataset_meta['classes']
        metrics = dict(
            mIoU=mean_of_known(iou),
            mAcc=mean_of_known(accuracy),
            aAcc=float(total[0].sum() / total[1].sum().clamp(min=1)),
            **{f'IoU.{n}': v for n, v in zip(names, iou, strict=True)})
        for unit in sorted({unit for unit, _ in results if unit}):
            metrics.update(self._apart(unit, sum(
                counts for u, counts in results if u == unit)))
        return {key: float('nan') if value is None else value
                for key, value in metrics.items()}

    def _unit(self, sample: dict) -> str:
        """What is scored apart, as the names of its metrics have it."""
        if self.scenario.kind != 'domain':
            return f'set_{sample["test_set"]}' if 'test_set' in sample else ''
        domain = domain_of(sample['img_path'], self.scenario)
        step = next(step for step, domains in enumerate(self.scenario.steps)
                    if domain in domains)
        return f'step_{step}'

    def _apart(self, unit: str, total: Tensor) -> dict:
        iou = intersection_over_union(*total.tolist())
        metrics = {f'mIoU.{unit}': mean_of_known(iou)}
        if self.scenario.kind != 'domain':
            metrics.update({
                f'IoU.{name}.{unit}': value for name, value in zip(
                    self.dataset_meta['classes'], iou, strict=True)})
        return metrics


def count_areas(prediction: Tensor, label: Tensor, num_classes: int,
                ignore_index: int) -> Tensor:
    """True positives, ground truth and predictions of every class, int64
    (3, C), from predicted and true channels (H, W).

    A prediction that is none of the C channels counts for no class.
    """
    counted = label != ignore_index
    label, prediction = label[counted].long(), prediction[counted].long()
    hits = label[label == prediction]
    return torch.stack([
        torch.bincount(values, minlength=num_classes)
        for values in (hits, label, prediction[prediction < num_classes])
    ])


def intersection_over_union(hits: Sequence[int], present: Sequence[int],
                            predicted: Sequence[int]) -> list:
    """IoU_c = TP / (GT + predicted - TP); None where the truth has no c."""
    return [h / (g + p - h) if g else None
            for h, g, p in zip(hits, present, predicted, strict=True)]


def mean_of_known(values: Sequence[float | None]) -> float | None:
    """Mean over the values that are there; None if there is none."""
    known = [v for v in values if v is not None]
    return sum(known) / len(known) if known else None


def group_means(iou: Sequence[float | None], num_base: int,
                background: bool = True) -> dict:
    """Mean IoU of the base classes, of the later ones and of all.

    The base group are the first ``num_base`` channels, those of step 0. The
    literature counts it with background (PLOP, RCIL, spWC) or without (MiB):
    both are given.
    """
    first = int(background)
    return dict(
        base=mean_of_known(iou[:num_base]),
        base_no_bg=mean_of_known(iou[first:num_base]),
        new=mean_of_known(iou[num_base:]),
        all=mean_of_known(iou),
        all_no_bg=mean_of_known(iou[first:]))


def step_means(iou: Sequence[float | None],
               step_of_channel: Sequence[int]) -> list:
    """Mean IoU of the classes that each step brought, by step."""
    steps = max(step_of_channel) + 1
    return [
        mean_of_known([
            v for v, s in zip(iou, step_of_channel, strict=True) if s == step
        ]) for step in range(steps)
    ]
