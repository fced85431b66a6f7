"""What a finished step has used is measured and freed."""
import gc
import logging
import resource

import torch
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


def free_memory() -> None:
    """Give back what no longer has an owner, and count peaks anew."""
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
        torch.cuda.resetpeak_memory_stats()


def peak_memory() -> int:
    """Peak bytes of this process: on the GPU if there is one."""
    if torch.cuda.is_available():
        return torch.cuda.max_memory_allocated()
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
