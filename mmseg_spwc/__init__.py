"""Continual learning for the OpenMMLab stack, built around spWC.

``selfpaced``, ``scenario``, ``consolidation`` and ``evaluation`` need torch
alone. The other rooms check the stack and make it importable when they are
loaded (:mod:`mmseg_spwc.compat`). The registered parts are imported on demand,
the first time a config names one.
"""
import sys

from .version import __version__

if 'mmengine' in sys.modules:  # it reads a config that imports this package
    from . import compat  # noqa: F401

__all__ = ['__version__']
