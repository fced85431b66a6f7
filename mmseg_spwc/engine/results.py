"""From the metrics of a scored step to its entry in the record."""
import math

from mmengine.runner import Runner, ValLoop

from mmseg_spwc.evaluation.segmentation import group_means, step_means
from mmseg_spwc.scenario import Scenario


def step_entry(runner: Runner, scenario: Scenario, step: int) -> dict:
    """Score a step on the test set and on the held-out slice.

    Args:
        runner (Runner): With the step's final weights loaded.
        scenario (Scenario): What is learnt when.
        step (int): The step.

    Returns:
        dict: The entry, without ``images``, ``checkpoint`` and ``cost``.
    """
    test = runner.test()
    classes = list(runner.test_loop.dataloader.dataset.metainfo['classes'])
    iou = _class_scores(test, classes)
    base = scenario.base_channels()
    return dict(
        step=step,
        classes=classes,
        class_ids=[int(c) for c in scenario.seen_classes(step)],
        iou=iou,
        miou=group_means(iou, base, scenario.has_background),
        miou_by_step=_by_step(test, iou, scenario, step),
        pixel_accuracy=_known(test['aAcc']),
        mean_accuracy=_known(test['mAcc']),
        kpi=_kpi(runner, scenario, step),
        parameters=sum(p.numel() for p in runner.model.parameters()))


def _kpi(runner: Runner, scenario: Scenario, step: int) -> dict | None:
    if runner.cfg.get('val_dataloader') is None:
        return None
    return kpi_of(runner.val(), runner.val_loop, scenario, step)


def kpi_of(metrics: dict, loop: ValLoop, scenario: Scenario,
           step: int) -> dict:
    """Return the scores of every unit, by class and by step.

    Args:
        metrics (dict): What the validation loop returned.
        loop (ValLoop): The loop over the held-out slice.
        scenario (Scenario): What is learnt when.
        step (int): The step.
    """
    classes = loop.dataloader.dataset.metainfo['classes']
    scores = _class_scores(metrics, classes)
    steps = _by_step(metrics, scores, scenario, step)
    return {'split': 'heldout', 'class': scores, 'step': steps}


def _by_step(metrics: dict, scores: list, scenario: Scenario,
             step: int) -> list:
    if scenario.kind != 'domain':
        return step_means(scores, scenario.step_of_channel(step))
    return [
        _known(metrics.get(f'mIoU.step_{s}', math.nan))
        for s in range(step + 1)
    ]


def _class_scores(metrics: dict, classes: list) -> list:
    return [_known(metrics[f'IoU.{name}']) for name in classes]


def _known(value: float) -> float | None:
    return None if math.isnan(value) else float(value)
