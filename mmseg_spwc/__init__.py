"""Continual learning for the OpenMMLab stack, built around spWC.

Importing the package checks the stack and makes it importable
(:mod:`mmseg_spwc.compat`). The registered parts are imported on demand, the
first time a config names one.
"""
from . import compat
from .version import __version__

compat.apply()

__all__ = ['__version__']
