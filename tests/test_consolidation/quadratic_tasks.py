"""Random tasks for the tests of the quadratic penalty."""
import torch
from torch import nn

from mmseg_spwc.consolidation import QuadraticPenalty

SHAPES = {'trunk.weight': (4, 3), 'trunk.bias': (4, ), 'scale': ()}


def make_task(seed, shapes=SHAPES, dtype=torch.float32):
    gen = torch.Generator().manual_seed(seed)
    importances = {
        n: torch.rand(s, generator=gen, dtype=dtype) for n, s in shapes.items()
    }
    anchors = {
        n: torch.randn(s, generator=gen, dtype=dtype)
        for n, s in shapes.items()
    }
    return importances, anchors


def make_params(seed=99, dtype=torch.float64):
    _, values = make_task(seed, dtype=dtype)
    return {n: nn.Parameter(v) for n, v in values.items()}


def loop_value(tasks, weights, params):
    """The definition, task by task and number by number."""
    total = 0.
    for weight, (importances, anchors) in zip(weights, tasks, strict=True):
        for name in importances:
            numbers = zip(
                importances[name].double().flatten().tolist(),
                anchors[name].double().flatten().tolist(),
                params[name].detach().double().flatten().tolist(),
                strict=True)
            total += sum(weight * g * (p - a)**2 for g, a, p in numbers)
    return total


def build(tasks, weights):
    penalty = QuadraticPenalty()
    for weight, task in zip(weights, tasks, strict=True):
        penalty.add(weight, *task)
    return penalty
