"""The report: one page that compares runs, drawn from their records."""
from .page import StepView, render, render_browse, render_steps

__all__ = ['StepView', 'render', 'render_browse', 'render_steps']
