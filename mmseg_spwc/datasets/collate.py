"""How samples become a batch."""
from typing import Any

from mmengine.dataset import pseudo_collate

from mmseg_spwc.registry import FUNCTIONS


@FUNCTIONS.register_module()
def collate_batches(batch: Any) -> Any:
    """Let a batch pass that the data set has made as a whole.

    Args:
        batch (dict | list): What
            :class:`~mmseg_spwc.datasets.ContinualClsDataset` gives for the
            keys of a batch, or a list of samples, which are collated as
            MMEngine does by default.
    """
    return batch if isinstance(batch, dict) else pseudo_collate(batch)
