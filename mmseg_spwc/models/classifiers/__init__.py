"""Image classifiers; they need MMPretrain."""
from .continual_image_classifier import ContinualImageClassifier

__all__ = ['ContinualImageClassifier']
