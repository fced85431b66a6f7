"""How the samples of one step are read."""
from .. import compat  # noqa: F401
from . import (  # noqa: F401
    ade_with_void,
    continual_cls,
    continual_seg,
    loading,
    shapes,
    transforms,
)
