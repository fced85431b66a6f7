"""Images (H, W, 3) with predictions of networks, drawn with Matplotlib."""
from collections.abc import Iterable

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from mmseg_spwc.errors import RecordError

from ..gallery import Gallery
from ..palette import colour
from ..runs import Comparison
from .style import panels, styled


def _legend(figure: Figure, entries: Iterable[tuple], columns: int) -> None:
    handles = [Patch(facecolor=shade, edgecolor='grey', linewidth=.4,
                     label=name) for name, shade in entries]
    figure.legend(handles=handles, loc='outside lower center',
                  ncols=min(len(handles), columns))


@styled
def qualitative(comparison: Comparison, gallery: Gallery) -> Figure:
    """Draw a grid: one row per image, then truth, then every method."""
    if not gallery.pictures:
        raise RecordError('There are no images to draw: '
                          + ' '.join(gallery.missing))
    groups = [g for g in comparison.groups
              if g.key in gallery.pictures[0].predictions]
    titles = ['image', 'ground truth', *(g.label for g in groups)]
    figure, axes = panels(len(titles), len(gallery.pictures), width=1.1,
                          height=1.1)
    cells = [cell for p in gallery.pictures for cell in (
        p.image, gallery.colour(p.truth),
        *(gallery.colour(p.predictions[g.key]) for g in groups))]
    for panel, cell in zip(axes, cells, strict=True):
        panel.imshow(cell, interpolation='nearest')
        panel.set_axis_off()
    for panel, title in zip(axes, titles, strict=False):
        panel.set_title(title)
    _legend(figure, map(gallery.legend, gallery.shown()), len(titles) + 1)
    return figure


def tinted(image: np.ndarray, painted: np.ndarray, labels: np.ndarray,
           opacity: float = .55) -> np.ndarray:
    """Mix an image with its painted labels (H, W); background stays clear."""
    mixed = opacity * painted + (1 - opacity) * image
    mixed[labels == 0] = image[labels == 0]
    return mixed.round().astype(np.uint8)


@styled
def segmentation(image: np.ndarray, labels: np.ndarray, classes: list,
                 palette: list, opacity: float = .55) -> Figure:
    """Draw labels (H, W) over an image, with a legend of what is in it."""
    gallery = Gallery(classes, palette)
    height, width = labels.shape
    figure, (axes, ) = panels(width=4., height=4. * height / width + .4)
    axes.imshow(tinted(image, gallery.colour(labels), labels, opacity))
    axes.set_axis_off()
    _legend(figure, [(f'{name} {100 * share:.0f} %', shade) for
                     name, shade, share in gallery.shares(labels) if share], 4)
    return figure


@styled
def classification(image: np.ndarray, scores: list) -> Figure:
    """Draw an image and bars of its most probable classes.

    ``scores`` are names and probabilities, the best first.
    """
    figure, (left, right) = panels(2, width=2.4, height=2.2)
    left.imshow(image)
    left.set_axis_off()
    names, values = zip(*scores, strict=True)
    right.barh(range(len(names)), [100 * p for p in values], color=colour(0))
    right.set_yticks(range(len(names)), names)
    right.invert_yaxis()
    right.set(xlabel='probability (%)', xlim=(0, 100))
    right.grid(False, axis='y')
    return figure
