"""Mixed precision where there is no GPU."""
from contextlib import contextmanager

import torch
from mmengine.optim import OptimWrapper
from torch import nn

from mmseg_spwc.registry import OPTIM_WRAPPERS


@OPTIM_WRAPPERS.register_module()
class CpuAmpOptimWrapper(OptimWrapper):
    """Runs the forward pass in bfloat16 on the CPU.

    MMEngine's ``AmpOptimWrapper`` needs an accelerator. bfloat16 has the
    range of float32, so no loss scaling is needed.
    """

    @contextmanager
    def optim_context(self, model: nn.Module):
        with super().optim_context(model), torch.autocast(
                'cpu', dtype=torch.bfloat16):
            yield
