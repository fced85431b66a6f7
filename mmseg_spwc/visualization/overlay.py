"""A prediction drawn over its image."""
import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from .figures.style import panels, styled
from .gallery import Gallery
from .palette import colour


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
