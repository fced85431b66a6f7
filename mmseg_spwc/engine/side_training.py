"""A few parameters trained while the network stands still."""
import contextlib
from collections.abc import Callable, Iterable, Iterator

import torch
from mmengine.dist import all_reduce
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import PolynomialLR
from torch.utils.data import DataLoader

from mmseg_spwc.models.segmentor import labels_of
from mmseg_spwc.utils.distributed import unwrap
from mmseg_spwc.utils.random_state import seeded

from .context import context_of
from .step_data import once_through


@contextlib.contextmanager
def standing_still(runner) -> Iterator[nn.Module]:
    """The student in eval mode, and random numbers of its step's own."""
    student = unwrap(runner.model)
    training = student.training
    student.eval()
    with seeded(runner.seed or 0, context_of(runner).step):
        yield student
    student.train(training)


@torch.no_grad()
def decoder_map(model: nn.Module, inputs: Tensor) -> Tensor:
    """The map that the classifier reads, (B, D, h, w), as a constant."""
    return model.tapped_forward(inputs).features.decoder


def minimise(student: nn.Module, loader: DataLoader, loss_of: Callable,
             optimizer: Optimizer, epochs: int) -> float:
    """Run epochs with a polynomial decay; return the last one's loss.

    Every rank sees its own share of the images; gradients are averaged.
    """
    schedule = PolynomialLR(optimizer, max(epochs * len(loader), 1), 0.9)
    params = [p for g in optimizer.param_groups for p in g['params']]
    losses = [torch.zeros(1)]
    for epoch in range(epochs):
        losses = []
        for inputs, labels in one_epoch(student, loader, epoch):
            optimizer.zero_grad()
            loss = loss_of(inputs, labels)
            loss.backward()
            for param in params:
                all_reduce(param.grad, 'mean')
            optimizer.step()
            schedule.step()
            losses.append(loss.detach())
    optimizer.zero_grad()
    return float(sum(losses) / max(len(losses), 1))


def one_epoch(student: nn.Module, loader: DataLoader,
              epoch: int) -> Iterator:
    """One epoch of the training loader, whose sampler may be endless."""
    loader.sampler.set_epoch(epoch)
    batches = (b for b, _ in zip(loader, range(len(loader)), strict=False))
    return prepared(student, batches)


@torch.no_grad()
def summed(student: nn.Module, loader: DataLoader,
           sums_of: Callable) -> tuple[Tensor, Tensor]:
    """Sums and counts that a function gives, over a step's images."""
    total, count = 0., 0.
    for inputs, labels in prepared(student, once_through(loader)):
        sums, counts = sums_of(inputs, labels)
        total, count = total + sums, count + counts
    all_reduce(total)
    all_reduce(count)
    return total, count


def prepared(student: nn.Module, batches: Iterable) -> Iterator:
    """Images (B, 3, H, W) and labels (B, H, W) of batches."""
    for batch in batches:
        batch = student.data_preprocessor(batch, training=True)
        yield batch['inputs'], labels_of(batch['data_samples'])
