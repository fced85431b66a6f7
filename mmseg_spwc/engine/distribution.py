"""What a step's config needs to run in several processes."""
import torch
from mmengine.config import Config

from mmseg_spwc.utils.display import say

SHARDED = 'mmseg_spwc.ShardedModel'


def distribute(cfg: Config, world_size: int) -> None:
    """Adapt a step's config to the number of processes, in place.

    On GPUs ``BN`` is turned into torch's ``SyncBatchNorm``, so that it
    normalises over the whole batch and not over each process's share of it;
    a config that sets ``sync_bn`` itself is left alone (None keeps ``BN``).
    On CPUs, where there is no such layer, the wrapper is told to use no
    device, unless the config has a ``model_wrapper_cfg`` of its own.

    A :class:`ShardedModel` is stored at the end of a step only, since
    MMEngine's checkpoints are written by one process, which has one share of
    the weights.

    Args:
        cfg (Config): The config of a step.
        world_size (int): Number of processes.
    """
    if world_size == 1:
        return
    if torch.cuda.is_available():
        cfg.setdefault('sync_bn', 'torch')
    elif not cfg.get('model_wrapper_cfg'):
        cfg.model_wrapper_cfg = dict(
            type='MMDistributedDataParallel', device_ids=None)
    if (cfg.get('model_wrapper_cfg') or {}).get('type') == SHARDED:
        cfg.default_hooks.checkpoint = None
        say('The model is shared out among processes: a step that is '
            'interrupted begins anew.')
