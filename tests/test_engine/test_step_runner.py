"""What MMEngine keeps of a runner is let go."""
import logging
import subprocess
import sys

import numpy as np
import torch
from mmengine.logging import MessageHub, MMLogger
from mmengine.visualization import Visualizer

from mmseg_spwc.engine.step_runner import StepRunner, late_figure
from mmseg_spwc.terminal import quieten, shown


class SomeVisualizer(Visualizer):
    pass


class RunnerDouble(StepRunner):
    """The three parts that MMEngine keeps by name."""

    def __init__(self, name, folder):
        self.logger = MMLogger.get_instance(
            name, logger_name='x', log_file=str(folder / f'{name}.log'))
        self.message_hub = MessageHub.get_instance(name)
        self.visualizer = SomeVisualizer.get_instance(name)


def kept(name):
    kinds = MMLogger, MessageHub, Visualizer, SomeVisualizer
    return [name in kind._instance_dict for kind in kinds]


def test_a_runner_is_forgotten_and_others_are_not(tmp_path):
    done, other = (RunnerDouble(n, tmp_path) for n in ('done', 'other'))
    files = [h for h in done.logger.handlers
             if isinstance(h, logging.FileHandler)]
    done.logger.info('the end')
    assert kept('done') == [True] * 4
    done.release()
    assert kept('done') == [False] * 4
    assert files and all(handler.stream is None for handler in files)
    assert 'the end' in (tmp_path / 'done.log').read_text()
    assert kept('other') == [True] * 4
    other.release()


def test_log_alone_says_what_is_resumed(tmp_path, capsys):
    runner = RunnerDouble('resumed', tmp_path)
    quieten(runner.logger)
    runner.model, runner._hooks = torch.nn.Linear(1, 1), []
    torch.save(runner.model.state_dict(), tmp_path / 'iter_3.pth')
    with shown(verbose=False):
        runner.load_checkpoint(str(tmp_path / 'iter_3.pth'))
    runner.release()
    assert 'iter_3.pth' in (tmp_path / 'resumed.log').read_text()
    assert capsys.readouterr().out == ''


def test_a_figure_is_made_when_something_is_drawn(tmp_path):
    image = np.full((8, 12, 3), 77, np.uint8)
    drawn = []
    for kind in (SomeVisualizer, late_figure(SomeVisualizer)):
        visualizer = kind.get_instance(f'{tmp_path}{len(drawn)}')
        assert isinstance(visualizer, SomeVisualizer)
        has_figure = visualizer.ax_save is not None
        assert has_figure == (kind is SomeVisualizer)
        for _ in range(2):  # the figure of a second image is the first's
            visualizer.set_image(image)
            figure = visualizer.fig_save
            visualizer.draw_bboxes(torch.tensor([1, 1, 6, 6]))
        assert visualizer.fig_save is figure
        drawn.append(visualizer.get_image())
    assert np.array_equal(*drawn)


def test_a_run_that_draws_nothing_needs_no_matplotlib(tmp_path):
    code = f'''
import sys
from mmengine.config import ConfigDict
from mmseg_spwc.engine.step_runner import StepRunner
class Double(StepRunner):
    def __init__(self):
        self._experiment_name, self._log_dir = 'x', {str(tmp_path)!r}
config = ConfigDict(type='Visualizer', vis_backends=[
    dict(type='LocalVisBackend')])
Double().build_visualizer(config).add_scalar('a', 1.)
assert config.type == 'Visualizer'
sys.exit('matplotlib.figure' in sys.modules)
'''
    subprocess.run([sys.executable, '-c', code], check=True)
