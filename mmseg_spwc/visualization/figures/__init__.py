"""Figures for papers, drawn from records; one style, one file each."""
from . import (
    apa_acf,
    convergence,
    fisher_difficulty,
    k_ablation,
    priority,
    ps_by_task,
    qualitative,
    regulariser_ablation,
)
from .style import save

# by name: a function of a comparison (and of a gallery for `qualitative`)
FIGURES = dict(
    apa_acf=apa_acf.draw,
    ps_by_task=ps_by_task.draw,
    priority=priority.draw,
    convergence=convergence.draw,
    regulariser_ablation=regulariser_ablation.draw,
    k_ablation=k_ablation.draw,
    fisher_difficulty=fisher_difficulty.draw,
    qualitative=qualitative.draw)

__all__ = ['FIGURES', 'save']
