"""Images and where a network looks, easy and hard units side by side."""
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure

from .style import panels, styled


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
