"""Which samples of earlier steps are kept, and how they are mixed in."""
from .mixing import drawing_probabilities, epoch_order, epoch_size, replayed_in
from .policies import POLICIES, Sample, remember
from .replay import LABELS, Replay

__all__ = [
    'LABELS', 'POLICIES', 'Replay', 'Sample', 'drawing_probabilities',
    'epoch_order', 'epoch_size', 'remember', 'replayed_in'
]
