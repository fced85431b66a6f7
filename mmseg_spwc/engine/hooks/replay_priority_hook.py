"""spWC decides what is replayed."""
from collections.abc import Sequence

from mmengine.hooks import Hook

from mmseg_spwc.registry import HOOKS


@HOOKS.register_module()
class ReplayPriorityHook(Hook):
    """Draws replayed samples by spWC's weights (``self_paced.on='replay'``).

    A unit is drawn by its weight, then one of the remembered samples that
    show it. The weights act from the next epoch on; if all are zero, all
    samples are alike.

    Args:
        unit (str): ``'class'``, the background left out, or ``'step'``.
    """

    takes_alone = True  # penalties and pixels are as without spWC

    def __init__(self, unit: str = 'class') -> None:
        self.priority_unit = unit

    def before_run(self, runner) -> None:
        self.sampler = runner.train_dataloader.sampler

    def set_priorities(self, v: Sequence[float]) -> None:
        self.sampler.draw_by(v, self.priority_unit)
