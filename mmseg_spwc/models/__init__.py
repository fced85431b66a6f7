"""Networks, losses and what turns them into students of a sequence."""
from .. import compat  # noqa: F401
from . import backbones, decode_heads, losses, segmentors  # noqa: F401
