"""Frees what MMEngine would keep of every runner until the process ends."""
import logging

from mmengine.runner import Runner


def release(runner: Runner) -> None:
    """Close a runner's log file and forget its logger, scalars and visualiser.

    MMEngine finds these by the name of the experiment and never drops them:
    a file, and the history of all losses, for every step of a sequence.

    Args:
        runner (Runner): It has done its work.
    """
    for handler in runner.logger.handlers:
        if isinstance(handler, logging.FileHandler):
            handler.close()
    for shared in (runner.logger, runner.message_hub, runner.visualizer):
        for kind in type(shared).__mro__:  # a visualiser's is also its base's
            instances = vars(kind).get('_instance_dict', {})
            instances.pop(shared.instance_name, None)
