"""What a run says in the terminal: while it trains, and after a step."""
import datetime
from collections.abc import Sequence

from mmengine.dist import master_only
from mmengine.logging import print_log
from mmengine.runner import LogProcessor

from mmseg_spwc.record import Record
from mmseg_spwc.registry import LOG_PROCESSORS
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
        later_iters (int): Iterations of the steps after this one.
        **kwargs: Those of MMEngine's ``LogProcessor``.
    """

    def __init__(self, *args, step: int, place: str, later_iters: int,
                 **kwargs) -> None:
        super().__init__(*args, **kwargs)
        self.step = step
        self.place = place
        self.later_iters = later_iters

    def get_log_after_iter(self, runner, batch_idx: int,
                           mode: str) -> tuple:
        tag, line = super().get_log_after_iter(runner, batch_idx, mode)
        if mode == 'train':
            left = runner.max_iters - runner.iter - 1 + self.later_iters
            seconds = int(left * tag.get('time', 0))
            whole = datetime.timedelta(seconds=seconds)
            line = f'Step {self.step} ({self.place})  {line}  ' \
                f'sequence eta: {whole}'
        return tag, line


@master_only
def print_step(record: Record, step: int) -> None:
    """Say how a finished step went, and what comes of it."""
    print_log(step_report(record, step), 'current')


@master_only
def print_table(records: Sequence[Record]) -> None:
    """Print the final table in the paper's layout."""
    print_log('\n' + final_table(records), 'current')
