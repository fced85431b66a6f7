"""Training whose weights, gradients and optimiser are shared out."""
import copy
import re

import torch
from mmengine.dist import get_world_size
from mmengine.optim import OptimWrapper
from packaging.version import Version
from torch import nn
from torch.optim import Optimizer

from mmseg_spwc.errors import ConfigError
from mmseg_spwc.registry import MODEL_WRAPPERS
from mmseg_spwc.terminal import say

OLDEST = '2.6'  # torch whose `fully_shard` takes any module


@MODEL_WRAPPERS.register_module()
class ShardedModel(nn.Module):
    """A model wrapper that trains with torch's FSDP (``fully_shard``).

    While a step is trained, every process holds its share of the weights,
    gradients and optimiser state, and ``module`` stays on the CPU.
    :meth:`gather` brings the trained weights back into ``module``, so that
    all that happens after the training sees an ordinary network. Use it as
    ``model_wrapper_cfg=dict(type='mmseg_spwc.ShardedModel')``.

    Args:
        module (nn.Module): The network.
        units (str, optional): Submodules whose whole name this regular
            expression matches are shared out, and gathered, one by one; the
            rest is one unit. Defaults to None.
    """

    def __init__(self, module: nn.Module, units: str | None = None) -> None:
        if Version(torch.__version__) < Version(OLDEST):
            raise ConfigError(
                f'A ShardedModel needs torch {OLDEST} or newer, this is '
                f'{torch.__version__}: install it, or take model_wrapper_cfg '
                'out of the config.')
        super().__init__()
        self.module = module
        self.units = units
        # beside the modules, so that no parameter is listed twice
        self.__dict__['sharded'] = None

    def train_step(self, data: dict, optim_wrapper: OptimWrapper) -> dict:
        if self.sharded is None:
            self.__dict__['sharded'] = self._shard(optim_wrapper)
        return self.sharded.train_step(data, optim_wrapper)

    def val_step(self, data: dict) -> list:
        return (self.sharded or self.module).val_step(data)

    def test_step(self, data: dict) -> list:
        return (self.sharded or self.module).test_step(data)

    def forward(self, *args, **kwargs) -> object:
        return (self.sharded or self.module)(*args, **kwargs)

    def train(self, mode: bool = True) -> 'ShardedModel':
        if self.sharded is not None:
            self.sharded.train(mode)
        return super().train(mode)

    def gather(self) -> None:
        """Bring the trained weights back; every process must call it."""
        if self.sharded is None:
            return
        from torch.distributed.checkpoint.state_dict import (
            StateDictOptions,
            get_model_state_dict,
        )
        state = get_model_state_dict(
            self.sharded, options=StateDictOptions(full_state_dict=True))
        device = next(self.sharded.parameters()).device
        self.__dict__['sharded'] = None
        self.module.to(device).load_state_dict(state)

    def _shard(self, optim_wrapper: OptimWrapper) -> nn.Module:
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import fully_shard
        say('The model is split over the processes: an interrupted step '
            'starts from its beginning.')
        device = next(self.module.parameters()).device.type
        mesh = init_device_mesh(device, (get_world_size(), ))
        sharded = copy.deepcopy(self.module)
        self.module.to('cpu')
        for name, part in list(sharded.named_modules()):
            if self.units and re.fullmatch(self.units, name):
                fully_shard(part, mesh=mesh)
        fully_shard(sharded, mesh=mesh)
        _swap(optim_wrapper.optimizer, self.module, sharded)
        return sharded


def _swap(optimizer: Optimizer, old: nn.Module, new: nn.Module) -> None:
    """Let an optimiser that has not stepped yet train another network."""
    names = {id(param): name for name, param in old.named_parameters()}
    params: dict[str, torch.Tensor] = dict(new.named_parameters())
    for group in optimizer.param_groups:
        group['params'] = [params[names[id(p)]] for p in group['params']]
