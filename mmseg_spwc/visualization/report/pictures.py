"""Qualitative segmentations for the page."""
from ..gallery import Gallery
from ..runs import Comparison
from .data_uri import label_map, photo


def rows(gallery: Gallery, comparison: Comparison) -> list[list[dict]]:
    """Return the images to show: one row for each test image.

    Every cell has ``source`` (a data URI), ``title`` and the ``group`` it
    belongs to, None for the image and the ground truth.
    """
    return [[
        dict(source=photo(p.image), title='image', group=None),
        dict(source=label_map(gallery.colour(p.truth)),
             title='ground truth', group=None),
        *(dict(source=label_map(gallery.colour(p.predictions[g.key])),
               title=g.label, group=g.key)
          for g in comparison.groups if g.key in p.predictions)
    ] for p in gallery.pictures]


def legend(gallery: Gallery) -> list[dict]:
    """Return name and colour of every class that can be seen."""
    return [
        dict(name=gallery.classes[c],
             colour='#{:02x}{:02x}{:02x}'.format(*gallery.palette[c]))
        for c in gallery.shown()
    ]
