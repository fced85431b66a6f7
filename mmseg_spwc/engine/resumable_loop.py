"""An epoch loop that can go on inside an epoch."""
from collections.abc import Iterator

from mmengine.runner import EpochBasedTrainLoop

from mmseg_spwc.registry import LOOPS
from mmseg_spwc.utils.random_state import get_random_state, set_random_state


@LOOPS.register_module()
class ResumableEpochLoop(EpochBasedTrainLoop):
    """``EpochBasedTrainLoop`` that skips what an epoch has already seen.

    MMEngine's loop always starts at the first batch of an epoch, so a
    checkpoint inside an epoch is of no use to it. Here the batches before
    ``runner.iter`` are drawn and dropped. As every sample is seeded by its
    own index and epoch, and the random states are put back afterwards, the
    rest of the epoch is bit for bit what it would have been.
    """

    def run_epoch(self) -> None:
        """Iterate over what is left of one epoch."""
        self.runner.call_hook('before_train_epoch')
        self.runner.model.train()
        done = self._iter - self._epoch * len(self.dataloader)
        for idx, data_batch in enumerate(self._batches(done), start=done):
            self.run_iter(idx, data_batch)
        self.runner.call_hook('after_train_epoch')
        self._epoch += 1

    def _batches(self, done: int) -> Iterator[dict]:
        # A new iterator draws a seed for its workers. A resumed run makes one
        # where an uninterrupted one may go on with its old one, so that
        # drawing must not count.
        state = get_random_state()
        batches = iter(self.dataloader)
        for _ in range(done):
            next(batches)
        set_random_state(state)
        return batches
