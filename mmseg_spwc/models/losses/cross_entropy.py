"""Losses that compare logits with labels."""
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mmseg_spwc.errors import ConfigError
from mmseg_spwc.labels import VOID
from mmseg_spwc.registry import MODELS

from ..quantities import Maps
from .base import (
    Loss,
    at_labels,
    check_labels,
    full_precision,
    is_background,
    mean_over_pixels,
)


@MODELS.register_module()
class PixelCrossEntropyLoss(Loss):
    """Plain cross entropy, averaged over all pixels, ignored ones included.

    Args:
        ignore_background (bool): Leave label 0 out, so that only the classes
            of the current step are learnt (ALIFE). Defaults to False.
    """

    def __init__(self, ignore_background: bool = False, **kwargs) -> None:
        super().__init__(**kwargs)
        self.ignore_background = ignore_background

    @full_precision
    def forward(self, logits: Tensor, labels: Tensor,
                pixel_weight: Tensor | None = None) -> Tensor:
        check_labels(logits, labels)
        if self.ignore_background:
            labels = labels.masked_fill(labels == 0, VOID)
        loss = F.cross_entropy(logits, labels.long(), ignore_index=VOID,
                               reduction='none')  # (B, H, W)
        return self.loss_weight * mean_over_pixels(loss, pixel_weight)


@MODELS.register_module()
class UnbiasedCrossEntropyLoss(Loss):
    r"""Unbiased cross entropy of `MiB <https://arxiv.org/abs/2002.00718>`_.

    With :math:`p` the softmax over all classes, the loss of a pixel is
    :math:`-\log \sum_{c < C_{old}} p_c` if its label is an old class or
    background, and :math:`-\log p_y` if it is a new one. It is the plain
    cross entropy once the old logits are joined by a logsumexp, averaged over
    all pixels, ignored ones included.

    The labels of a replayed image name other channels :math:`N` than the
    step's: its loss is :math:`-\log p_y` if they name the pixel's, and
    :math:`-\log (1 - \sum_{c \in N} p_c)` otherwise.

    Args:
        new_offset (float): Added to the logits of the new classes, here
            alone: the logarithm of how much more often they occur in the
            images of their step, which all show them, than in a test.
            Defaults to 0.
    """

    def __init__(self, *args, new_offset: float = 0., **kwargs) -> None:
        super().__init__(*args, **kwargs)
        self.new_offset = new_offset

    @full_precision
    def forward(self, logits: Tensor, labels: Tensor, num_old: int,
                pixel_weight: Tensor | None = None,
                named: Tensor | None = None) -> Tensor:
        """With ``num_old=0``, as before any step, plain cross entropy."""
        check_labels(logits, labels)
        if not 0 <= num_old <= logits.shape[1]:
            raise ValueError(f'num_old must lie between 0 and the '
                             f'{logits.shape[1]} classes, got {num_old}')
        labels = labels.long()
        if named is not None:
            loss = self._by_image(logits, labels, num_old, named)
            return self.loss_weight * mean_over_pixels(loss, pixel_weight)
        if num_old > 0:
            logits = self._joined(logits, num_old)
            # old classes -> 0, new ones -> 1, 2, ...
            labels = (labels - num_old + 1).clamp(min=0).masked_fill(
                labels == VOID, VOID)
        loss = F.cross_entropy(logits, labels, ignore_index=VOID,
                               reduction='none')  # (B, H, W)
        return self.loss_weight * mean_over_pixels(loss, pixel_weight)

    def _by_image(self, logits: Tensor, labels: Tensor, num_old: int,
                  named: Tensor) -> Tensor:
        """The loss of every pixel by the channels that its image names."""
        offset = logits.new_zeros(logits.shape[1])
        offset[num_old:] = self.new_offset
        logits = logits + offset[:, None, None]
        rest = logits.masked_fill(
            named[:, :, None, None], float('-inf')).logsumexp(dim=1)
        wanted = rest.where(is_background(labels, num_old, named),
                            at_labels(logits, labels))
        return (logits.logsumexp(dim=1) - wanted).where(labels != VOID, 0.)

    def _joined(self, logits: Tensor, num_old: int) -> Tensor:
        """Logits of {any old class} and of the single new classes."""
        # one split: each slice would fill a whole gradient with zeros
        old, new = logits.split([num_old, logits.shape[1] - num_old], dim=1)
        new = new + self.new_offset if self.new_offset else new
        return torch.cat([old.logsumexp(dim=1, keepdim=True), new], dim=1)


@MODELS.register_module()
class ClassBCELoss(Loss):
    r"""Classification loss of LwF-MC, after
    `iCaRL <https://arxiv.org/abs/1611.07725>`_.

    :math:`\sum_c BCE(z_c, 1[y = c])`, which is
    :math:`\sum_c softplus(z_c) - z_y`, averaged over all pixels; zero where
    the label is ignored.

    Args:
        unknown (bool): The background belongs to the last channel, that of
            the unknown, as in `SSUL <https://arxiv.org/abs/2106.11562>`_.
            Defaults to False.
        mean (str): Over ``'all'`` pixels, or the ``'valid'`` ones. Defaults
            to 'all'.
    """

    def __init__(self, unknown: bool = False, mean: str = 'all',
                 **kwargs) -> None:
        super().__init__(**kwargs)
        if mean not in ('all', 'valid'):
            raise ValueError(f"mean is 'all' or 'valid', not {mean!r}.")
        self.unknown = unknown
        self.mean = mean

    @full_precision
    def forward(self, logits: Tensor, labels: Tensor,
                pixel_weight: Tensor | None = None) -> Tensor:
        check_labels(logits, labels)
        labels = labels.long()
        valid = labels != VOID
        if self.unknown:
            labels = labels.masked_fill(labels == 0, logits.shape[1] - 1)
        positive = at_labels(logits, labels)
        loss = F.softplus(logits).sum(dim=1) - positive
        mean = self.loss_weight * mean_over_pixels(loss * valid, pixel_weight)
        if self.mean == 'all':
            return mean
        return mean * valid.numel() / valid.sum().clamp(min=1)


@MODELS.register_module()
class NewClassBCELoss(Loss):
    r"""Classification loss of `DKD <https://arxiv.org/abs/2210.05941>`_.

    :math:`\sum_{c} BCE(z_c, 1[y = c])` over the new classes, without the
    background, averaged over all pixels. Void pixels are of no class, as
    published.

    Args:
        pos_weight (float): Factor of the pixels of a class in its own term.
            Defaults to 1.
    """

    def __init__(self, pos_weight: float = 1., **kwargs) -> None:
        super().__init__(**kwargs)
        self.pos_weight = pos_weight

    @full_precision
    def forward(self, logits: Tensor, labels: Tensor, num_old: int,
                pixel_weight: Tensor | None = None) -> Tensor:
        check_labels(logits, labels)
        first = max(num_old, 1)
        classes = torch.arange(first, logits.shape[1], device=labels.device)
        target = (labels[:, None] == classes.view(-1, 1, 1)) & (
            labels[:, None] != VOID)
        loss = F.binary_cross_entropy_with_logits(
            logits[:, first:], target.to(logits), reduction='none',
            pos_weight=logits.new_tensor(self.pos_weight))
        return self.loss_weight * mean_over_pixels(loss.sum(1), pixel_weight)


@MODELS.register_module()
class ExtraRowLoss(Loss):
    """Teaches the classifier's extra row to say no to every pixel.

    It is DKD's auxiliary classifier, from which new classes start; the
    network is not trained by it. The mean of BCE(z, 0) at the decoder's size.
    """

    @full_precision
    def forward(self, features: Maps, classifier: nn.Module) -> Tensor:
        if classifier.extra is None:
            raise ConfigError('ExtraRowLoss needs a row to train: set '
                              'model.classifier.extra=True.')
        return self.loss_weight * F.softplus(
            classifier.extra(features.decoder.detach())).mean()


@MODELS.register_module()
class TaskCrossEntropyLoss(Loss):
    """Cross entropy of a classifier with one head, or a head per task: the
    softmax is over the channels that ``mask`` allows an image."""

    @full_precision
    def forward(self, logits: Tensor, labels: Tensor,
                mask: Tensor | None = None) -> Tensor:
        """A label that its image's mask does not allow has an infinite loss.
        """
        if labels.shape != logits.shape[:1]:
            raise ValueError(
                f'logits {tuple(logits.shape)} need one label an image, but '
                f'got labels of shape {tuple(labels.shape)}.')
        if mask is not None:
            logits = logits.masked_fill(~mask, float('-inf'))
        return self.loss_weight * F.cross_entropy(logits, labels)
