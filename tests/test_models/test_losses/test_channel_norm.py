import torch
import torch.nn.functional as F

from mmseg_spwc.models.losses.channel_norm import channel_norm


def direct(delta):
    pooled = F.avg_pool2d(delta.transpose(1, 2), (3, 1), 1, (1, 0))
    assert pooled.transpose(1, 2).shape == delta.shape
    return pooled.flatten(1).norm(dim=1)


def test_equals_pooling():
    weight = torch.tensor([1., -2.], dtype=torch.float64)
    for channels in (1, 2, 3, 8):
        delta = torch.randn(
            2, channels, 3, 5, dtype=torch.float64, requires_grad=True)
        got, expected = channel_norm(delta), direct(delta)
        torch.testing.assert_close(got, expected)
        torch.testing.assert_close(
            torch.autograd.grad(got @ weight, delta),
            torch.autograd.grad(expected @ weight, delta))


def test_zero_has_zero_gradient():
    delta = torch.zeros(2, 3, 4, 4, requires_grad=True)
    channel_norm(delta).sum().backward()
    assert torch.equal(delta.grad, torch.zeros(2, 3, 4, 4))
