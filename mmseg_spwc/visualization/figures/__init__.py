"""Figures for papers, drawn from records in one style."""
from .ablation import k_ablation, regulariser_ablation
from .images import qualitative
from .plots import apa_acf, convergence, importance_error, priority, ps_by_task
from .style import save

# by name: a function of a comparison (and of a gallery for `qualitative`)
FIGURES = {
    draw.__name__: draw
    for draw in (apa_acf, ps_by_task, priority, convergence,
                 regulariser_ablation, k_ablation, importance_error,
                 qualitative)
}

__all__ = ['FIGURES', 'save']
