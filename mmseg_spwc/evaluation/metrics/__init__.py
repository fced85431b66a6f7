"""Registered metrics, and the evaluator for whole batches."""
from .batch_evaluator import BatchEvaluator
from .continual_iou import ContinualIoUMetric
from .task_accuracy import TaskAccuracy

__all__ = ['BatchEvaluator', 'ContinualIoUMetric', 'TaskAccuracy']
