"""The L2 norms of pooled maps and their gradients, without pooling.

The average pool of window k, stride 1 and zero padding maps a (H, W) map D to
P_h D P_w^T with banded matrices P. Its norm needs only the Gram matrices
G = P^T P,

    ||P_h D P_w^T||^2 = <G_h D G_w, D>,

and G_h D G_w, over the norm, is also the gradient: two small products per
window, whatever its size, give both.

With K = G_h (x) G_w on the H W pixels of a map, and the maps of all channels
as columns d_c, the same norm is <sum_c d_c d_c^T, K>. For small maps one
product of all channels then serves all windows, and another, with a sum of
the K, gives the gradient.

The mean over neighbouring channels is a symmetric map S, so that the gradient
of ||S D|| is S S D over the norm: the same cheap sum a second time.
"""
import functools
from collections.abc import Sequence

import torch
from torch import Tensor

# up to here products of pixels take less time than those of rows
FEW_PIXELS = 200


def image_norm(x: Tensor) -> Tensor:
    """L2 norm (B,) of every image, with a gradient of zero where it is zero.

    Taken channel by channel first: one float32 sum over a whole map is only
    good to about 1e-5.
    """
    norms = torch.linalg.vector_norm(x.flatten(2), dim=2)  # (B, C)
    return torch.linalg.vector_norm(norms, dim=1)


def box_norm(delta: Tensor, windows: Sequence[int]) -> Tensor:
    """Mean over windows of the norm of average-pooled maps.

    Equal to the L2 norm (B,) over (C, H', W') of ``F.avg_pool2d(delta, k,
    stride=1, padding=k // 2)``, with the padding counted. The gradient is
    zero where the norm is zero.
    """
    return _BoxNorm.apply(delta, tuple(windows))


class _BoxNorm(torch.autograd.Function):

    @staticmethod
    def forward(ctx, delta: Tensor, windows: tuple) -> Tensor:
        few = delta.shape[-2:].numel() <= FEW_PIXELS
        norm, gradient = (_by_pixels if few else _by_rows)(
            delta.contiguous(), windows)
        ctx.save_for_backward(gradient)
        return norm

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad_output: Tensor) -> tuple:
        gradient, = ctx.saved_tensors
        return gradient * grad_output.view(-1, 1, 1, 1), None


def _by_rows(delta: Tensor, windows: tuple) -> tuple[Tensor, Tensor]:
    """Norms (B,) and their gradients, window by window."""
    height, width = delta.shape[-2:]
    like = delta.device, delta.dtype
    total = delta.new_zeros(len(delta))  # (B,)
    gradient = torch.zeros_like(delta)
    # two buffers for all windows: fresh memory costs more than products
    rows, blurred = torch.empty_like(delta), torch.empty_like(delta)
    for window in windows:
        torch.matmul(delta, box_gram(width, window, *like), out=rows)
        torch.matmul(box_gram(height, window, *like), rows, out=blurred)
        square = torch.linalg.vecdot(
            blurred.flatten(2), delta.flatten(2)).sum(dim=1)
        norm = square.clamp(min=0).sqrt()  # (B,)
        total += norm
        inverse = torch.where(norm > 0, 1 / norm, 0)
        gradient.addcmul_(blurred, inverse.view(-1, 1, 1, 1))
    return total / len(windows), gradient.div_(len(windows))


def _by_pixels(delta: Tensor, windows: tuple) -> tuple[Tensor, Tensor]:
    """The same for small maps, all windows at once."""
    grams = pixel_grams(
        *delta.shape[-2:], windows, delta.device, delta.dtype)  # (K, P P)
    maps = delta.flatten(2)  # (B, C, P)
    products = maps.mT @ maps  # (B, P, P)
    norm = (products.flatten(1) @ grams.T).clamp(min=0).sqrt()  # (B, K)
    inverse = torch.where(norm > 0, 1 / norm, 0) / len(windows)
    gradient = maps @ (inverse @ grams).view_as(products)
    return norm.mean(dim=1), gradient.view_as(delta)


@functools.lru_cache(maxsize=256)
def box_gram(size: int, window: int, device: torch.device,
             dtype: torch.dtype) -> Tensor:
    """G = P^T P (n, n) of the box filter along a side of length n."""
    with torch.inference_mode(False), torch.no_grad():
        starts = torch.arange(-(window // 2), size - (window - 1) // 2)
        # (n', n): how far pixel n lies behind the start of window n'
        offset = torch.arange(size) - starts.unsqueeze(1)
        pool = ((offset >= 0) & (offset < window)).double() / window
        return (pool.T @ pool).to(device, dtype)


@functools.lru_cache(maxsize=64)
def pixel_grams(height: int, width: int, windows: tuple,
                device: torch.device, dtype: torch.dtype) -> Tensor:
    """K = G_h (x) G_w of every window, (windows, P P) with P = H W."""
    with torch.inference_mode(False), torch.no_grad():
        return torch.stack([
            torch.kron(box_gram(height, window, device, dtype),
                       box_gram(width, window, device, dtype)).flatten()
            for window in windows])


def channel_norm(delta: Tensor) -> Tensor:
    """Norm (B,) of the mean over 3 channels, stride 1, zeros around; its
    gradient is zero where the norm is zero.
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
