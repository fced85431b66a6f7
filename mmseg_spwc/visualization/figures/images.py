"""Images with what networks make of them, drawn with Matplotlib."""
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from mmseg_spwc.errors import RecordError

from ..gallery import Gallery
from ..palette import colour
from ..runs import Comparison
from .style import panels, styled


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
    cells = [[p.image, gallery.colour(p.truth),
              *(gallery.colour(p.predictions[g.key]) for g in groups)]
             for p in gallery.pictures]
    for panel, cell in zip(axes, sum(cells, []), strict=True):
        panel.imshow(cell, interpolation='nearest')
        panel.set_axis_off()
    for panel, title in zip(axes, titles, strict=False):
        panel.set_title(title)
    handles = [Patch(facecolor=[v / 255 for v in gallery.palette[c]],
                     edgecolor='grey', linewidth=.4,
                     label=gallery.classes[c]) for c in gallery.shown()]
    figure.legend(handles=handles, loc='outside lower center',
                  ncols=min(len(handles), len(titles) + 1))
    return figure


def tinted(image: np.ndarray, painted: np.ndarray, labels: np.ndarray,
           opacity: float = .55) -> np.ndarray:
    """Mix an image with its painted labels; background stays clear.

    Args:
        image (np.ndarray): RGB, (H, W, 3), uint8.
        painted (np.ndarray): The labels' colours, (H, W, 3), uint8.
        labels (np.ndarray): Channels, (H, W).
        opacity (float): Of the colours.
    """
    mixed = opacity * painted + (1 - opacity) * image
    mixed[labels == 0] = image[labels == 0]
    return mixed.round().astype(np.uint8)


@styled
def segmentation(image: np.ndarray, labels: np.ndarray, classes: list,
                 palette: list, opacity: float = .55) -> Figure:
    """Draw a label map over an image, with a legend of what is in it.

    Args:
        image (np.ndarray): RGB, (H, W, 3), uint8.
        labels (np.ndarray): Channels, (H, W).
        classes (list[str]): Names of the channels.
        palette (list): Their colours.
        opacity (float): Of the colours; background stays clear.
    """
    painted = Gallery(classes, palette).colour(labels)
    height, width = labels.shape
    figure, (axes, ) = panels(width=4., height=4. * height / width + .4)
    axes.imshow(tinted(image, painted, labels, opacity))
    axes.set_axis_off()
    handles = [Patch(facecolor=[v / 255 for v in palette[c]],
                     label=f'{classes[c]} {100 * (labels == c).mean():.0f} %')
               for c in np.unique(labels) if c < len(classes)]
    figure.legend(handles=handles, loc='outside lower center', ncols=4)
    return figure


@styled
def classification(image: np.ndarray, scores: list) -> Figure:
    """Draw an image and bars of its most probable classes.

    Args:
        image (np.ndarray): RGB, (H, W, 3), uint8.
        scores (list): Names and probabilities, the best first.
    """
    figure, (left, right) = panels(2, width=2.4, height=2.2)
    left.imshow(image)
    left.set_axis_off()
    names = [name for name, _ in scores]
    right.barh(range(len(scores)), [100 * p for _, p in scores],
               color=colour(0))
    right.set_yticks(range(len(scores)), names)
    right.invert_yaxis()
    right.set(xlabel='probability (%)', xlim=(0, 100))
    right.grid(False, axis='y')
    return figure


class CamRow(NamedTuple):
    """Images (H, W, 3) and maps (H, W) of one unit."""
    title: str
    cells: list[tuple[np.ndarray, np.ndarray]]


@styled
def draw_cams(rows: list[CamRow]) -> Figure:
    """Draw every image, and beside it the map over the image."""
    columns = 2 * max(len(row.cells) for row in rows)
    figure, axes = panels(columns, len(rows), width=1.1, height=1.25)
    for panel in axes:
        panel.set_axis_off()
    for r, row in enumerate(rows):
        first = r * columns
        axes[first].set_title(row.title, loc='left')
        for i, (image, cam) in enumerate(row.cells):
            axes[first + 2 * i].imshow(image)
            axes[first + 2 * i + 1].imshow(image)
            axes[first + 2 * i + 1].imshow(
                cam, cmap='inferno', alpha=.55, vmin=0, vmax=1)
    return figure
