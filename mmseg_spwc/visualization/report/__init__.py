"""The report: one page that compares runs, drawn from their records."""
from .page import render

__all__ = ['render']
