"""Batches with every kind of label, and a comparison with brute force."""
from types import SimpleNamespace

import pytest
import torch

CLASSES = [(1, 1), (1, 4), (4, 1), (3, 5)]  # old with background, new
LABELS = ['mixed', 'ignored', 'no_background']


def draw_labels(kind, num_old, num_new):
    """Two images of 3 x 4 pixels; the kind rules the second one."""
    labels = torch.randint(0, num_old + num_new, (2, 3, 4))
    labels[0, 0, 0], labels[0, 1, 1] = 0, 255
    if kind == 'ignored':
        labels[1] = 255
    if kind == 'no_background':
        labels[labels == 0] = num_old
    return labels


@pytest.fixture(params=CLASSES, ids=lambda c: f'{c[0]}+{c[1]}')
def classes(request):
    return request.param


@pytest.fixture(params=LABELS)
def batch(request, classes):
    """Logits, old logits and labels of one batch, in float64."""
    torch.manual_seed(0)
    num_old, num_new = classes
    shape = dict(dtype=torch.float64)
    return SimpleNamespace(
        logits=torch.randn(
            2, num_old + num_new, 3, 4, requires_grad=True, **shape),
        old_logits=torch.randn(2, num_old, 3, 4, **shape),
        labels=draw_labels(request.param, num_old, num_new),
        num_old=num_old,
        num_new=num_new)


@pytest.fixture
def assert_same():
    """Compare two scalars and their gradients with respect to tensors."""

    def compare(got, expected, *tensors):
        torch.testing.assert_close(got, expected)
        for a, b in zip(
                torch.autograd.grad(got, tensors),
                torch.autograd.grad(expected, tensors),
                strict=True):
            torch.testing.assert_close(a, b)

    return compare


@pytest.fixture
def maps():
    """Feature lists of both models, in float64: two maps and the logits."""

    def draw(num_old, num_new, noise=0.5, sizes=((3, 8, 8), (4, 5, 7))):
        torch.manual_seed(0)
        shapes = [(2, *size) for size in sizes]
        old = [torch.randn(s, dtype=torch.float64) for s in shapes]
        new = [
            (o + noise * torch.randn_like(o)).requires_grad_() for o in old
        ]
        logits = torch.randn(2, num_old + num_new, 4, 4, dtype=torch.float64)
        old_logits = logits[:, :num_old] + noise
        return [*new, logits.requires_grad_()], [*old, old_logits]

    return draw
