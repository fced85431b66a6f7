"""The line in the terminal tells the time left for all steps."""
import io
from types import SimpleNamespace

import pytest
from mmengine.logging import MessageHub
from mmengine.runner import LogProcessor
from rich.console import Console

from mmseg_spwc.terminal import DisplayHook, SequenceLogProcessor, shown


@pytest.mark.parametrize('later, left', [(0, '0:00:12'), (100, '0:03:32')])
def test_time_left_counts_later_steps(monkeypatch, later, left):
    monkeypatch.setattr(LogProcessor, 'get_log_after_iter', lambda *_: (
        dict(time=2.), 'Epoch(train) [1][4/10]'))
    processor = SequenceLogProcessor(step=3, place='1/5')
    runner = SimpleNamespace(
        max_iters=10, iter=3,
        context=SimpleNamespace(later_iterations=later))
    assert processor.get_log_after_iter(runner, 3, 'train')[1] == (
        f'Step 3 (1/5)  Epoch(train) [1][4/10]  sequence eta: {left}')
    assert processor.get_log_after_iter(runner, 3, 'val')[1] == (
        'Epoch(train) [1][4/10]')


def test_display_hook_tells_loss_and_time_left_of_step_and_sequence():
    out, hub = io.StringIO(), MessageHub('display')
    hub.update_scalar('train/loss', 0.25)
    hub.update_scalar('train/time', 2.)
    runner = SimpleNamespace(
        iter=9, max_iters=40, message_hub=hub, val_dataloader=range(3),
        context=SimpleNamespace(later_iterations=30),
        log_processor=SimpleNamespace(title='step 1 (2/5)', place='2/5'))
    hook = DisplayHook()
    with shown(False, Console(file=out, width=120)) as display:
        display.pause = 0.
        display.next = 0.
        hook.before_train(runner)
        hook.after_train_iter(runner, 9)
        hook.after_train(runner)
        hook.before_val_epoch(runner)
        hook.after_val_iter(runner, 1)
        hook.after_val_epoch(runner)
    assert out.getvalue().splitlines() == [
        'step 1 (2/5)  10/40  loss 0.25, 0:01:00 left  sequence 0:02:00 left',
        'held-out images  2/3  sequence 0:02:00 left']
