"""What a run says in the terminal: while it trains, and after a step."""
from collections.abc import Sequence

from mmengine.dist import master_only
from mmengine.hooks import Hook
from mmengine.runner import LogProcessor

from mmseg_spwc.record import Record
from mmseg_spwc.registry import HOOKS, LOG_PROCESSORS
from mmseg_spwc.utils.display import display, say, time_left
from mmseg_spwc.visualization.step_report import step_report
from mmseg_spwc.visualization.tables import final_table


@LOG_PROCESSORS.register_module()
class SequenceLogProcessor(LogProcessor):
    """Says step, epoch and the time left for the whole sequence.

    The time left is the iterations left in this step and in all later ones
    times the smoothed time of an iteration.

    Args:
        step (int): Which step runs, from 0.
        place (str): Its place among the steps that run, as '1/5'.
        **kwargs: Those of MMEngine's ``LogProcessor``.

    Attributes:
        later_iters (int): Iterations of the steps after this one. They
            depend on the data, so the sequence sets them.
    """

    later_iters = 0

    def __init__(self, *args, step: int, place: str, **kwargs) -> None:
        super().__init__(*args, **kwargs)
        self.step = step
        self.place = place

    def get_log_after_iter(self, runner, batch_idx: int,
                           mode: str) -> tuple:
        tag, line = super().get_log_after_iter(runner, batch_idx, mode)
        if mode == 'train':
            left = runner.max_iters - runner.iter - 1 + self.later_iters
            line = f'Step {self.step} ({self.place})  {line}  ' \
                f'sequence eta: {time_left(left * tag.get("time", 0))}'
        return tag, line


@HOOKS.register_module()
class DisplayHook(Hook):
    """Shows how far step and sequence are, see :mod:`.utils.display`."""

    priority = 'VERY_LOW'
    smoothing = 20  # iterations whose mean time tells the time left

    def before_train(self, runner) -> None:
        display().begin(self._title(runner), runner.max_iters)

    def after_train_iter(self, runner, batch_idx, data_batch=None,
                         outputs=None) -> None:
        if not display().due():
            return
        scalars = runner.message_hub.log_scalars
        done = runner.iter + 1
        later = getattr(runner.log_processor, 'later_iters', 0)
        left, note, whole = runner.max_iters - done, [], ''
        if 'train/loss' in scalars:
            note.append(f'loss {scalars["train/loss"].current():.4g}')
        if 'train/time' in scalars:
            pace = scalars['train/time'].mean(self.smoothing)
            note.append(f'{time_left(pace * left)} left')
            whole = f'{time_left(pace * (left + later))} left'
        display().sequence(f'sequence {whole}', self._place(runner))
        display().update(done, ', '.join(note))

    def before_val_epoch(self, runner) -> None:
        display().begin('held-out images', len(runner.val_dataloader))

    def before_test_epoch(self, runner) -> None:
        display().begin('test images', len(runner.test_dataloader))

    def after_val_iter(self, runner, batch_idx, data_batch=None,
                       outputs=None) -> None:
        if display().due():
            display().update(batch_idx + 1)

    after_test_iter = after_val_iter

    def after_train(self, runner) -> None:
        display().end()

    def after_val_epoch(self, runner, metrics=None) -> None:
        display().end()

    after_test_epoch = after_val_epoch

    def _place(self, runner) -> tuple[int, int]:
        place = getattr(runner.log_processor, 'place', '1/1')
        step, steps = map(int, place.split('/'))
        return step, steps

    def _title(self, runner) -> str:
        return 'step {} of {}'.format(*self._place(runner))


@master_only
def print_step(record: Record, step: int) -> None:
    """Say how a finished step went, and what comes of it."""
    say(step_report(record, step))


@master_only
def print_table(records: Sequence[Record]) -> None:
    """Print the final table in the paper's layout."""
    say('\n' + final_table(records))
