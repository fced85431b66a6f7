"""Colours that people with any kind of colour vision can tell apart.

The palette is that of Okabe and Ito, `Color Universal Design
<https://jfly.uni-koeln.de/color/>`_, without its black, which a dark page
hides, and with its pale yellow last.
"""
from collections.abc import Sequence

OKABE_ITO = ('#0072B2', '#D55E00', '#009E73', '#CC79A7', '#56B4E9',
             '#E69F00', '#F0E442')
# names of Plotly and of Matplotlib
DASHES = (('solid', '-'), ('dash', '--'), ('dot', ':'), ('dashdot', '-.'))
SYMBOLS = (('circle', 'o'), ('square', 's'), ('diamond', 'D'),
           ('triangle-up', '^'), ('cross', 'P'), ('x', 'X'), ('star', '*'))
# perceptually uniform, and monotone in lightness
SEQUENTIAL = 'Cividis'


def hexadecimal(rgb: Sequence[int]) -> str:
    """A colour (red, green, blue), from 0 to 255, as pages write it."""
    return '#{:02x}{:02x}{:02x}'.format(*rgb)


def colour(index: int) -> str:
    """The colour of the method number ``index``; it repeats after seven."""
    return OKABE_ITO[index % len(OKABE_ITO)]


def dash(index: int) -> tuple[str, str]:
    """The line style, so that lines that coincide are still seen."""
    return DASHES[index % len(DASHES)]


def symbol(index: int) -> tuple[str, str]:
    """The marker, so that colour is never the only difference."""
    return SYMBOLS[index % len(SYMBOLS)]
