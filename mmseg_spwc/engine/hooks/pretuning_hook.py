"""NeST: new rows of the classifier are tuned before the network is."""
import copy

import torch
from mmengine.hooks import Hook
from mmengine.logging import print_log
from mmengine.registry import OPTIMIZERS
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.data import DataLoader

from mmseg_spwc.errors import ConfigError
from mmseg_spwc.models.growing import first_new
from mmseg_spwc.models.losses import UnbiasedCrossEntropyLoss
from mmseg_spwc.models.losses.base import shrink
from mmseg_spwc.registry import HOOKS
from mmseg_spwc.utils.options import is_number, is_positive

from ..context import context_of
from ..side_training import decoder_map, minimise, standing_still, summed


@HOOKS.register_module()
class PretuningHook(Hook):
    r"""Classifier pre-tuning of `NeST <https://arxiv.org/abs/2407.14142>`_.

    Before a step's training, with the network fixed and in eval mode, the row
    of every new class i is learnt as :math:`w_i = \sum_c P_{ic} (M_{ic} \odot
    w_c)` of the old rows, and the background's as :math:`s (m \odot w_0)`, by
    MiB's cross entropy. :math:`M_{ic}` starts as the mean, over the pixels of
    the class, of what the old model gives class c, wherever feature and
    weight agree in sign; :math:`P_i` as the softmax of its sums. In the end
    rows and biases are scaled to the norms of the old ones.

    The published code lets statistics of norms move meanwhile; here they do
    not. Auxiliary heads start as ``classifier_init`` says.

    Args:
        epochs (int): Defaults to 5.
        lr_scale (float): Times the step's learning rate. Defaults to 1.
    """

    # once the weights are there
    priority = 'HIGH'

    def __init__(self, epochs: int = 5, lr_scale: float = 1.) -> None:
        if not is_positive(epochs):
            raise ValueError(f'pretuning.epochs is {epochs!r}: give a whole '
                             'number above 0.')
        if not is_number(lr_scale) or lr_scale <= 0:
            raise ValueError(f'pretuning.lr_scale is {lr_scale!r}: give a '
                             'number above 0.')
        self.epochs = epochs
        self.lr_scale = lr_scale

    def try_on(self, student) -> None:
        """Refuse a step without rows to tune, before training."""
        if student.num_new == 0:
            raise ConfigError('Pre-tuning needs steps that add classes: take '
                              'hooks.pretuning out.')

    def before_train(self, runner) -> None:
        if context_of(runner).step == 0 or runner.iter > 0:
            return
        with standing_still(runner) as student:
            loss = self._tune(student, runner.train_dataloader,
                              runner.cfg.optim_wrapper.optimizer)
        print_log(f'Tuned the new rows, loss {loss:.4f}', 'current')

    def _tune(self, student: nn.Module, loader: DataLoader,
              optimizer: dict) -> float:
        classifier = student.decode_head.conv_seg
        num_old = student.num_old
        plain = classifier.to_conv()
        weight, bias = plain.weight.detach().flatten(1), plain.bias.detach()
        rows = RowTransforms(
            weight[:num_old], bias[:num_old],
            bias[num_old:num_old + student.num_new],
            measure_matches(student, loader, weight[:num_old]))

        def loss_of(inputs: Tensor, labels: Tensor) -> Tensor:
            logits = F.conv2d(decoder_map(student, inputs), *rows())
            return UnbiasedCrossEntropyLoss()(
                student.upsample(logits, labels.shape[1:]), labels, num_old)

        options = copy.deepcopy(dict(optimizer))
        options.update(params=rows.parameters(),
                       lr=self.lr_scale * options['lr'])
        loss = minimise(student, loader, loss_of, OPTIMIZERS.build(options),
                        self.epochs)
        with torch.no_grad():
            background, new, new_bias = rows.rescaled()
            layer = classifier.convs[first_new(student.channels)]
            classifier.convs[0].weight[0] = background[:, None, None]
            layer.weight.copy_(new[:, :, None, None])
            layer.bias.copy_(new_bias)
        return loss


class RowTransforms(nn.Module):
    """New rows, and the background's, as transforms of old ones (C, D).

    Args:
        old (Tensor): Old rows; 0 is the background.
        old_bias (Tensor): Their biases, (C,).
        bias (Tensor): First biases of the new rows, (N,).
        matches (Tensor): M at the start, (N, C, D).
    """

    def __init__(self, old: Tensor, old_bias: Tensor, bias: Tensor,
                 matches: Tensor) -> None:
        super().__init__()
        self.old, self.old_bias = old, old_bias
        self.masks = nn.Parameter(matches)
        self.mix = nn.Parameter(matches.sum(dim=2).softmax(dim=1))
        self.bias = nn.Parameter(bias.clone())
        self.mask = nn.Parameter(torch.ones_like(old[0]))
        self.scale = nn.Parameter(old.new_ones(()))

    def new_rows(self) -> Tensor:
        """The rows (N, D) of the new classes."""
        return torch.einsum('nc,ncd,cd->nd', self.mix, self.masks, self.old)

    def background(self) -> Tensor:
        """The row (D,) of the background."""
        return self.scale * self.mask * self.old[0]

    def forward(self) -> tuple[Tensor, Tensor]:
        """Weight and bias of a 1x1 convolution of all rows."""
        rows = torch.cat(
            [self.background()[None], self.old[1:], self.new_rows()])
        return rows[:, :, None, None], torch.cat([self.old_bias, self.bias])

    def rescaled(self) -> tuple[Tensor, Tensor, Tensor]:
        """The background's row, new rows and new biases, of old norms."""
        background, rows = self.background(), self.new_rows()
        old = self.old.norm(dim=1)
        return (background * _ratio(old[0], background.norm()),
                rows * _ratio(old.mean(), rows.norm(dim=1).mean()),
                self.bias * _ratio(self.old_bias.norm(), self.bias.norm()))


def _ratio(wanted: Tensor, given: Tensor) -> Tensor:
    """What scales one norm to another; 1 for a norm of 0."""
    return torch.where(given > 0, wanted / given, 1.)


def class_matches(maps: Tensor, probabilities: Tensor, labels: Tensor,
                  old: Tensor, classes: range) -> tuple[Tensor, Tensor]:
    """Sums (N, C, D) over pixels of classes of q_c 1[f_k w_ck > 0], and the
    pixels' numbers (N,).

    Maps are (B, D, h, w), probabilities (B, C, h, w), labels (B, h, w).
    """
    values, given = (x.permute(0, 2, 3, 1).flatten(0, 2)
                     for x in (maps, probabilities))
    sums, counts = [], []
    for label in classes:
        chosen = labels.flatten() == label
        q, f = given[chosen].T, values[chosen]
        above, below = ((q @ (side > 0).to(q)) for side in (f, -f))
        sums.append(above * (old > 0) + below * (old < 0))
        counts.append(chosen.sum())
    return torch.stack(sums), torch.stack(counts)


def measure_matches(student: nn.Module, loader: DataLoader,
                    old: Tensor) -> Tensor:
    """M at the start: the mean of :func:`class_matches` over a step's
    images, of all ranks."""
    classes = range(student.num_old, student.num_old + student.num_new)

    def sums_of(inputs: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        features = student.tapped_forward(inputs).features
        logits = features.logits[:, :student.num_old].float()
        return class_matches(
            features.decoder.float(), logits.softmax(dim=1),
            shrink(labels, logits.shape[2:]), old, classes)

    total, count = summed(student, loader, sums_of)
    return total / count.clamp(min=1)[:, None, None]
