"""The L2 norm of maps averaged over neighbouring channels."""
import torch
from torch import Tensor

from .feature_maps import image_norm


def channel_norm(delta: Tensor) -> Tensor:
    """Norm of the mean over 3 channels, stride 1, zeros around.

    The sliding sum S is symmetric, so the gradient of ||S D|| is S S D over
    the norm: the same cheap sum a second time.

    Args:
        delta (Tensor): (B, C, H, W).

    Returns:
        Tensor: (B,), with a gradient of zero where the norm is zero.
    """
    return _ChannelNorm.apply(delta)


class _ChannelNorm(torch.autograd.Function):

    @staticmethod
    def forward(ctx, delta: Tensor) -> Tensor:
        summed = _sum_neighbours(delta)
        norm = image_norm(summed) / 3
        ctx.save_for_backward(summed, norm)
        return norm

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad_output: Tensor) -> Tensor:
        summed, norm = ctx.saved_tensors
        scale = torch.where(norm > 0, grad_output / (9 * norm), 0)
        return _sum_neighbours(summed).mul_(scale.view(-1, 1, 1, 1))


def _sum_neighbours(x: Tensor) -> Tensor:
    """Sum of the channels c - 1, c and c + 1, (B, C, H, W)."""
    total = x.clone()
    total[:, 1:] += x[:, :-1]
    total[:, :-1] += x[:, 1:]
    return total
