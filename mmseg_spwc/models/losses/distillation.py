"""Losses that compare logits with those of the previous model.

``old_logits`` are taken as constants. Losses of pixels read logits
(B, C_cur, H, W) and old ones (B, C_old, H, W).
"""
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mmseg_spwc.labels import VOID
from mmseg_spwc.registry import MODELS

from ..quantities import Maps
from .base import (
    Loss,
    check_labels,
    check_old_logits,
    full_precision,
    mean_over_pixels,
    mean_where,
    positive_temperature,
    shrink,
)


def distillation_map(logits: Tensor, old_logits: Tensor,
                     temperature: float = 1.0) -> Tensor:
    """LwF's distillation of every pixel, (B, H, W)."""
    check_old_logits(logits, old_logits)
    num_old = old_logits.shape[1]
    target = (old_logits.detach() / temperature).softmax(dim=1)
    kept = logits[:, :num_old] / temperature
    loss = kept.logsumexp(dim=1) - (target * kept).sum(dim=1)
    return temperature**2 / num_old * loss


@MODELS.register_module()
class DistillationLoss(Loss):
    r"""Knowledge distillation of `LwF <https://arxiv.org/abs/1606.09282>`_
    for pixels; the usual weight is 100.

    With :math:`q` the old model's softmax and :math:`p` the new model's
    softmax restricted to the old channels, both at temperature T, it is the
    mean over all pixels of :math:`-\frac{T^2}{C_{old}} \sum_{c < C_{old}} q_c
    \log p_c`. The factor :math:`T^2` keeps the size of the gradient.

    Args:
        temperature (float): Softens both distributions. Defaults to 1.0.
    """

    def __init__(self, temperature: float = 1.0, **kwargs) -> None:
        super().__init__(**kwargs)
        self.temperature = positive_temperature(temperature)

    @full_precision
    def forward(self, logits: Tensor, old_logits: Tensor,
                old_weight: Tensor | None = None) -> Tensor:
        loss = distillation_map(logits, old_logits, self.temperature)
        return self.loss_weight * mean_over_pixels(loss, old_weight)


@MODELS.register_module()
class UnbiasedDistillationLoss(Loss):
    r"""Unbiased distillation of `MiB <https://arxiv.org/abs/2002.00718>`_;
    the usual weight is 10, and 100 in RCIL and in steps of one class.

    With :math:`q` the old model's softmax and :math:`p` the new model's
    softmax over all :math:`C_{cur}` classes, it is the mean over all pixels
    of :math:`-\frac{1}{C_{old}} [q_0 \log(p_0 + \sum_{c \ge C_{old}} p_c) +
    \sum_{1 \le c < C_{old}} q_c \log p_c]`. Without a new class it equals
    LwF's distillation.
    """

    @full_precision
    def forward(self, logits: Tensor, old_logits: Tensor,
                old_weight: Tensor | None = None) -> Tensor:
        check_old_logits(logits, old_logits)
        num_old = old_logits.shape[1]
        target = old_logits.detach().softmax(dim=1)
        # one split: each slice would fill a whole gradient with zeros
        background, others, new = logits.log_softmax(dim=1).split(
            [1, num_old - 1, logits.shape[1] - num_old], dim=1)
        joined = torch.cat([background, new], dim=1).logsumexp(dim=1)
        loss = -target[:, 0] * joined - (target[:, 1:] * others).sum(dim=1)
        return self.loss_weight * (
            mean_over_pixels(loss, old_weight) / num_old)


@MODELS.register_module()
class BCEDistillationLoss(Loss):
    r"""Distillation loss of LwF-MC, after
    `iCaRL <https://arxiv.org/abs/1611.07725>`_; the usual weight is 10.

    :math:`\sum_{c < C_{old}} BCE(z_c, \sigma(z^{old}_c))`, averaged over all
    pixels, whatever their label.

    Args:
        skip_background (bool): Leave channel 0 out. Defaults to False.
    """

    def __init__(self, skip_background: bool = False, **kwargs) -> None:
        super().__init__(**kwargs)
        self.first = int(skip_background)

    @full_precision
    def forward(self, logits: Tensor, old_logits: Tensor,
                class_weight: Tensor | None = None) -> Tensor:
        check_old_logits(logits, old_logits)
        kept = slice(self.first, old_logits.shape[1])
        return self.loss_weight * sum_of_classes(
            logits[:, kept], old_logits[:, kept], class_weight)


def sum_of_classes(logits: Tensor, old_logits: Tensor,
                   class_weight: Tensor | None = None) -> Tensor:
    """Cross entropy of old probabilities, summed over the last classes that
    have a weight and averaged over pixels."""
    number = logits.shape[1]
    weight = None if class_weight is None else class_weight[-number:].view(
        -1, 1, 1).to(logits)
    return number * F.binary_cross_entropy_with_logits(
        logits, old_logits.detach().sigmoid(), weight)


@MODELS.register_module()
class DecomposedDistillationLoss(Loss):
    r"""Decomposed distillation of `DKD <https://arxiv.org/abs/2210.05941>`_.

    A logit without its bias is what speaks for the class and what speaks
    against it, :math:`z^\pm_c = \sum_k f_k w^\pm_{ck}` with the positive and
    the negative weights alone. Both are distilled as in LwF-MC, on the
    decoder's maps and without the background: ``loss_pos`` and ``loss_neg``.
    """

    @full_precision
    def forward(self, features: Maps, old_features: Maps,
                classifier: nn.Module, old_classifier: nn.Module,
                class_weight: Tensor | None = None) -> dict[str, Tensor]:
        new, old = features.decoder, old_features.decoder.detach()
        old_weight = old_classifier.weight[1:].to(old)
        weight = classifier.weight[1:len(old_weight) + 1]
        return {
            f'loss_{name}': self.loss_weight * sum_of_classes(
                F.conv2d(new, sign(weight)), F.conv2d(old, sign(old_weight)),
                class_weight)
            for name, sign in (('pos', F.relu),
                               ('neg', lambda weight: weight.clamp(max=0)))
        }


@MODELS.register_module()
class AlifeDistillationLoss(Loss):
    """LwF's distillation on the pixels not labelled 0, which the adaptive
    logit regulariser of `ALIFE <https://arxiv.org/abs/2210.06816>`_ leaves
    out.

    Ignored pixels count as well: the old model's opinion needs no label.
    """

    @full_precision
    def forward(self, logits: Tensor, old_logits: Tensor,
                labels: Tensor) -> Tensor:
        check_labels(logits, labels)
        return self.loss_weight * mean_where(
            distillation_map(logits, old_logits), labels != 0)


@MODELS.register_module()
class AdaptiveLogitLoss(Loss):
    r"""Adaptive logit regulariser (ALI) of
    `ALIFE <https://arxiv.org/abs/2210.06816>`_.

    With :math:`q` the old model's softmax, padded with zeros for the new
    classes, it is the mean over pixels labelled 0 of
    :math:`\log \sum_c e^{z_c} - \sum_{c < C_{old}} q_c z_c`.
    """

    @full_precision
    def forward(self, logits: Tensor, old_logits: Tensor,
                labels: Tensor) -> Tensor:
        check_labels(logits, labels)
        check_old_logits(logits, old_logits)
        target = old_logits.detach().softmax(dim=1)
        expected = (target * logits[:, :old_logits.shape[1]]).sum(dim=1)
        return self.loss_weight * mean_where(
            logits.logsumexp(dim=1) - expected, labels == 0)


@MODELS.register_module()
class LabelGuidedLoss(Loss):
    r"""Label-guided distillation of LGKD, on the logits at their own size.

    What the old model's softmax :math:`q` gives the background goes to the
    new class y that a pixel is labelled with: its loss is
    :math:`-q_0 \log p_y - \sum_{1 \le c < C_{old}} q_c \log p_c`, with
    :math:`p` over all classes; with any other label y is 0. It is summed over
    classes and averaged over the labelled pixels. Labels are those of the
    dataset, without pseudo labels.

    Args:
        prev (float): Factor of pixels without a new class. Defaults to 10.
        novel (float): Factor of pixels of a new class. Defaults to 2.
    """

    def __init__(self, prev: float = 10., novel: float = 2.,
                 **kwargs) -> None:
        super().__init__(**kwargs)
        self.prev = prev
        self.novel = novel

    @full_precision
    def forward(self, features: Maps, old_features: Maps, given: Tensor,
                old_weight: Tensor | None = None) -> Tensor:
        logits, old_logits = features.logits, old_features.logits
        check_old_logits(logits, old_logits)
        num_old = old_logits.shape[1]
        labels = shrink(given, logits.shape[2:]).long()
        valid = labels != VOID
        new = valid & (labels >= num_old)
        target = old_logits.detach().softmax(dim=1)
        log_p = logits.log_softmax(dim=1)
        own = log_p.gather(1, labels.where(new, 0)[:, None])[:, 0]
        loss = -target[:, 0] * own - (
            target[:, 1:] * log_p[:, 1:num_old]).sum(dim=1)
        factor = torch.where(new, self.novel, self.prev)
        if old_weight is not None:
            factor = factor * shrink(old_weight, logits.shape[2:])
        return self.loss_weight * mean_where(loss * factor, valid)


@MODELS.register_module()
class HeadDistillationLoss(Loss):
    r"""Knowledge distillation of `LwF <https://arxiv.org/abs/1606.09282>`_
    for image classifiers, summed over the old heads.

    With :math:`q^h` and :math:`p^h` the old and the new model's softmax at
    temperature T over the channels of head h, it is
    :math:`-\sum_h \frac1B \sum_b \sum_{c \in h} q^h_{bc} \log p^h_{bc}`.

    Args:
        temperature (float): T, softens both distributions. Defaults to 2.0.
        scale_by_tasks (bool): Multiply by the number of earlier tasks. For
            tasks that share one head (domain-incremental learning), which
            then counts as often as separate heads would. Defaults to False.
    """

    def __init__(self, temperature: float = 2.0, scale_by_tasks: bool = False,
                 **kwargs) -> None:
        super().__init__(**kwargs)
        self.temperature = positive_temperature(temperature)
        self.scale_by_tasks = scale_by_tasks

    @full_precision
    def forward(self, logits: Tensor, old_logits: Tensor,
                old_heads: Sequence[tuple[int, int]],
                num_old_tasks: int) -> Tensor:
        num_old = old_logits.shape[1]
        sizes = [size for _, size in old_heads]
        if sum(sizes) != num_old or logits.shape[1] < num_old:
            raise ValueError(
                f'The old heads have {sum(sizes)} channels, the previous '
                f'model {num_old} and the current one {logits.shape[1]}: the '
                'heads must be those of the previous model, and all of them '
                'be kept.')
        factor = self.loss_weight
        if self.scale_by_tasks:
            factor = factor * num_old_tasks
        new = (logits[:, :num_old] / self.temperature).split(sizes, dim=1)
        old = (old_logits.detach() / self.temperature).split(sizes, dim=1)
        return factor * sum(
            F.cross_entropy(p, q.softmax(1))
            for p, q in zip(new, old, strict=True))
