"""What can be done with the networks of a finished run."""
from .. import compat  # noqa: F401
