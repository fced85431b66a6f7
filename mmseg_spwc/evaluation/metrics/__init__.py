"""Registered metrics."""
from .continual_iou import ContinualIoUMetric

__all__ = ['ContinualIoUMetric']
