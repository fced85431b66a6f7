"""A page with one image and a slider over the steps."""
from typing import NamedTuple

import numpy as np
from markupsafe import Markup

from ..gallery import Gallery
from .data_uri import label_map, photo
from .page import TEMPLATES, environment


class StepView(NamedTuple):
    """What the network of a step makes of the image, (H, W) channels."""
    step: int
    labels: np.ndarray
    classes: list
    palette: list


def render_steps(title: str, image: np.ndarray,
                 views: list[StepView]) -> str:
    """Write a page on which classes appear and fade as steps go by.

    Args:
        title (str): The heading.
        image (np.ndarray): RGB, (H, W, 3), uint8.
        views (list[StepView]): One for each step, in order.

    Returns:
        str: HTML that needs no network.
    """
    frames = [
        dict(step=v.step,
             source=label_map(Gallery(v.classes, v.palette).colour(v.labels)),
             legend=_legend(v)) for v in views
    ]
    return environment().get_template('steps.html').render(
        title=title, image=photo(image), frames=frames,
        style=Markup((TEMPLATES / 'style.css').read_text()),
        script=Markup((TEMPLATES / 'steps.js').read_text()))


def _legend(view: StepView) -> list[dict]:
    """Every class of the step, its colour and its share of the image."""
    return [
        dict(name=name, colour='#{:02x}{:02x}{:02x}'.format(*colour),
             share=100 * float((view.labels == channel).mean()))
        for channel, (name, colour) in enumerate(
            zip(view.classes, view.palette, strict=True))
    ]
