"""Networks, losses and what turns them into students of a sequence."""
from . import backbones, decode_heads, losses, segmentors  # noqa: F401
