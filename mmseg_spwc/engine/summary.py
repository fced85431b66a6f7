"""What a run says in the terminal: after a step, and in the end."""
from collections.abc import Sequence

from mmengine.dist import master_only
from mmengine.logging import print_log

from mmseg_spwc.record import Record
from mmseg_spwc.visualization.step_report import step_report
from mmseg_spwc.visualization.tables import final_table


@master_only
def print_step(record: Record, step: int) -> None:
    """Say how a finished step went, and what comes of it."""
    print_log(step_report(record, step), 'current')


@master_only
def print_table(records: Sequence[Record]) -> None:
    """Print the final table in the paper's layout."""
    print_log('\n' + final_table(records), 'current')
