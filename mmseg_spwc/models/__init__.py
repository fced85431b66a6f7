"""Networks, losses and what turns them into students of a sequence."""
from .. import compat  # noqa: F401
from . import backbones, css_head, losses, segmentor  # noqa: F401
