"""A few parameters trained while the network stands still."""
from collections.abc import Callable, Iterable, Iterator

import torch
from mmengine.dist import all_reduce
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import PolynomialLR
from torch.utils.data import DataLoader

from mmseg_spwc.models.segmentor import labels_of


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


def prepared(student: nn.Module, batches: Iterable) -> Iterator:
    """Images (B, 3, H, W) and labels (B, H, W) of batches."""
    for batch in batches:
        batch = student.data_preprocessor(batch, training=True)
        yield batch['inputs'], labels_of(batch['data_samples'])
