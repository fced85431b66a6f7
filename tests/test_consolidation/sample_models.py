"""Small models and the textbook loop over their single samples."""
import torch
import torch.nn.functional as F
from torch import nn


def mlp(inputs=5, classes=4):
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Linear(inputs, 7), nn.ReLU(), nn.Linear(7, 6), nn.Tanh(),
        nn.Linear(6, classes))


class Dense(nn.Module):
    """A little segmentation network: (B, 3, H, W) to (B, 4, h, w)."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.body = nn.Sequential(
            nn.Conv2d(3, 6, 3, stride=2, padding=1, bias=False),
            nn.BatchNorm2d(6), nn.ReLU(inplace=True),
            nn.Conv2d(6, 6, 3, padding=2, dilation=2, groups=3),
            nn.GroupNorm(2, 6), nn.ReLU(inplace=True), nn.Conv2d(6, 4, 1))
        self.body[1].running_mean.normal_()
        self.body[1].running_var.uniform_(.5, 2)

    def forward(self, x):
        return self.body(x)


def batch_of_one(model, inputs, objective, power):
    """The definition: one sample at a time, gradient by gradient."""
    model.eval()
    params = dict(model.named_parameters())
    total = {n: torch.zeros_like(p) for n, p in params.items()}
    for i in range(len(inputs)):
        for weight, value in objective(model(inputs[i:i + 1]), i):
            grads = torch.autograd.grad(
                value, list(params.values()), retain_graph=True)
            for name, grad in zip(params, grads, strict=True):
                total[name] += weight * grad.abs()**power
    return {n: t / len(inputs) for n, t in total.items()}


def nll_of(labels):

    def objective(logits, i):
        loss = F.cross_entropy(logits, labels[i:i + 1], reduction='sum')
        return [(1., loss)]

    return objective


def assert_same(result, expected, rtol=1e-4):
    assert list(result) == list(expected)
    for name, value in expected.items():
        scale = value.abs().max().item()
        torch.testing.assert_close(
            result[name], value, rtol=rtol, atol=1e-6 * scale, msg=name)


CASES = [
    (mlp(), torch.randn(9, 5), (9, )),
    (Dense(), torch.randn(4, 3, 8, 8), (4, 4, 4)),
]
