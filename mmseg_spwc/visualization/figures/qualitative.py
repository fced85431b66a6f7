"""Test images with what every method makes of them."""
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from mmseg_spwc.errors import RecordError

from ..gallery import Gallery
from ..runs import Comparison
from .style import panels, styled


@styled
def draw(comparison: Comparison, gallery: Gallery) -> Figure:
    """Draw a grid: one row an image, then truth, then every method."""
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
