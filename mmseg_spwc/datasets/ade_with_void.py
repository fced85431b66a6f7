"""ADE20K with its void label as background."""
from mmseg.datasets import ADE20KDataset

from mmseg_spwc.registry import DATASETS


@DATASETS.register_module()
class ADE20KWithVoid(ADE20KDataset):
    """ADE20K in which label 0 counts, as continual segmentation has it.

    mmseg drops label 0 (``reduce_zero_label=True``). The continual
    literature keeps it as the background, so there are 151 classes.
    """

    METAINFO = dict(
        classes=('background', *ADE20KDataset.METAINFO['classes']),
        palette=[[0, 0, 0], *ADE20KDataset.METAINFO['palette']])

    def __init__(self, **kwargs) -> None:
        super().__init__(reduce_zero_label=False, **kwargs)
