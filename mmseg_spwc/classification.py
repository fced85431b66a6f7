"""Registers what needs MMPretrain; classification configs import it::

    custom_imports = dict(imports=['mmseg_spwc.classification'])
"""
from . import compat  # noqa: F401
from .errors import StackError

try:
    import mmpretrain  # noqa: F401
except ModuleNotFoundError as error:
    if error.name != 'mmpretrain':
        raise
    raise StackError(
        'Classification needs the package mmpretrain, which is not '
        "installed: run `pip install 'mmseg_spwc[cls]'`.") from error

from .models.classifier import BatchPreprocessor, ContinualImageClassifier

__all__ = ['BatchPreprocessor', 'ContinualImageClassifier']
