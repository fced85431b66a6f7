"""What the terminal says after a step."""
from mmseg_spwc.record import Record

from .scores import is_classification
from .tables import percent


def step_line(record: Record, step: int) -> str:
    """One line on a finished step."""
    entry = record.step(step)
    if is_classification(record):
        scores = (f'accuracy on the new task '
                  f'{percent(entry["accuracy_by_step"][-1])}, '
                  f'mean {percent(entry["accuracy"]["mean"])}')
    else:
        means = entry['miou']
        scores = (f'mIoU base {percent(means["base"])}, '
                  f'new {percent(means["new"])}, '
                  f'all {percent(means["all"])}, '
                  f'pixel accuracy {percent(entry["pixel_accuracy"])}')
    return f'Step {step} done: {scores}, {entry["cost"]["wall_time"]:.0f} s'
