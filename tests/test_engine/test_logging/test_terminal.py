"""The line in the terminal tells the time left for all steps."""
import types

import pytest
from mmengine.runner import LogProcessor

from mmseg_spwc.engine.logging import SequenceLogProcessor


@pytest.mark.parametrize('later, left', [(0, '0:00:12'), (100, '0:03:32')])
def test_time_left_counts_later_steps(monkeypatch, later, left):
    monkeypatch.setattr(LogProcessor, 'get_log_after_iter', lambda *_: (
        dict(time=2.), 'Epoch(train) [1][4/10]'))
    processor = SequenceLogProcessor(step=3, place='1/5')
    processor.later_iters = later
    runner = types.SimpleNamespace(max_iters=10, iter=3)
    assert processor.get_log_after_iter(runner, 3, 'train')[1] == (
        f'Step 3 (1/5)  Epoch(train) [1][4/10]  sequence eta: {left}')
    assert processor.get_log_after_iter(runner, 3, 'val')[1] == (
        'Epoch(train) [1][4/10]')
