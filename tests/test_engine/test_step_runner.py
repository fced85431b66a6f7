"""What MMEngine keeps of a runner is let go."""
import logging

from mmengine.logging import MessageHub, MMLogger
from mmengine.visualization import Visualizer

from mmseg_spwc.engine.step_runner import StepRunner


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
