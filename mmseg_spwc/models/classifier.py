"""Any MMPretrain ``ImageClassifier`` as the student of a sequence."""
import itertools
import re
from collections.abc import Mapping, Sequence

import torch
from mmpretrain.models import ClsDataPreprocessor, ImageClassifier
from mmpretrain.structures import DataSample
from torch import Tensor, nn

from mmseg_spwc.registry import MODELS
from mmseg_spwc.structures import BatchSamples

from .growing import GrowingLinear, grow_linear
from .quantities import ClassifierQuantities
from .student import Student

Samples = BatchSamples | Sequence[DataSample]


@MODELS.register_module()
class BatchPreprocessor(ClsDataPreprocessor):
    """MMPretrain's preprocessor, which also takes a batch as one tensor and
    its labels as :class:`~mmseg_spwc.structures.BatchSamples`."""

    def forward(self, data: dict, training: bool = False) -> dict:
        samples = data.get('data_samples')
        if not isinstance(samples, BatchSamples):
            return super().forward(data, training)
        inputs = super().forward(dict(inputs=data['inputs']))['inputs']
        return dict(
            inputs=inputs,
            data_samples=samples.to(self.device, non_blocking=True))


@MODELS.register_module()
class ContinualImageClassifier(Student, ImageClassifier):
    """A classifier whose last layer grows, with one head or a head per task.

    Backbone, neck and head are those of an ordinary mmpretrain config; the
    head's last layer becomes one linear layer a step. The losses are named
    parts of the config; each asks for what it needs, by name, of
    :class:`~mmseg_spwc.models.quantities.ClassifierQuantities`.

    Args:
        per_task (bool): Whether the channels of every step are a head of
            their own: the task of an image must then be known, and only the
            channels of its task compete for it. Defaults to False.
        freeze_old_heads (bool): Whether the earlier tasks' heads are kept
            from training, if there is a head per task. Defaults to True.
        data_preprocessor (dict, optional): Its type defaults to
            ``mmseg_spwc.BatchPreprocessor``.
        **kwargs: Those of :class:`~mmseg_spwc.models.student.Student` and of
            mmpretrain's ``ImageClassifier``.
    """

    quantities = ClassifierQuantities
    rows = re.compile(r'^head\..*\.linears\.(\d+)\.')

    def __init__(self, *args, per_task: bool = False,
                 freeze_old_heads: bool = True,
                 data_preprocessor: dict | nn.Module | None = None,
                 **kwargs) -> None:
        if data_preprocessor is None or isinstance(data_preprocessor,
                                                   Mapping):
            data_preprocessor = dict(
                dict(type='mmseg_spwc.BatchPreprocessor'),
                **(data_preprocessor or {}))
        super().__init__(*args, data_preprocessor=data_preprocessor, **kwargs)
        if getattr(self.data_preprocessor, 'batch_augments', None):
            raise ValueError(
                'Mixed images (train_cfg.augments) have no single label: '
                'take train_cfg out of the model.')
        if per_task and min(self.channels) < 1:
            raise ValueError(
                'With a head per task every step must add channels, but '
                f'channels={self.channels}: set per_task=False.')
        self.per_task = per_task
        self.heads = head_places(self.channels, per_task)
        self.old_heads = head_places(self.channels[:-1], per_task)
        if per_task and freeze_old_heads:
            self.classifier.linears[:-1].requires_grad_(False)
        own = torch.zeros(len(self.heads), sum(self.channels)).bool()
        for channels, (first, size) in zip(own, self.heads, strict=True):
            channels[first:first + size] = True
        self.register_buffer('own_channels', own, persistent=False)

    def grow(self) -> None:
        """Give the head one linear layer for each step."""
        if not self.with_head:
            raise ValueError(
                'A classifier without a head cannot grow: give it one, such '
                "as head=dict(type='LinearClsHead', ...).")
        if self.ahead or self.of_classifier:
            raise ValueError('model.allocate and model.classifier are for '
                             'segmentors: take them out of the method.')
        grow_linear(self.head, self.channels)

    @property
    def classifier(self) -> GrowingLinear:
        """The last layer."""
        return next(m for m in self.head.modules()
                    if isinstance(m, GrowingLinear))

    @property
    def active(self) -> tuple[int, int]:
        """First channel and size of the newest head."""
        return self.heads[-1]

    def active_labels(self, samples: Samples) -> Tensor:
        """Count channels from the first of the newest head."""
        return labels_of(samples) - self.active[0]

    def initialise_new(self, policy: str) -> None:
        """See :meth:`GrowingLinear.initialise_new`."""
        if self.per_task and policy == 'balanced':
            raise ValueError(
                "The policy 'balanced' is for classes that compete; with a "
                "head per task choose 'default', 'torch' or 'zero'.")
        self.classifier.initialise_new(policy)

    def pre_logits(self, inputs: Tensor) -> Tensor:
        """What the last layer reads, (B, D)."""
        return self.extract_feat(inputs, stage='pre_logits')

    def forward(self, inputs: Tensor, data_samples: Samples | None = None,
                mode: str = 'tensor'):
        """As in mmpretrain; ``tensor`` gives the newest head's logits."""
        if mode != 'tensor':
            return super().forward(inputs, data_samples, mode)
        layer = self.classifier.linears[-1] if self.per_task else \
            self.classifier
        return layer(self.pre_logits(inputs))

    def loss(self, inputs: Tensor, data_samples: Samples) -> dict:
        """Compute every loss of the step, and the accuracy in percent."""
        features = self.pre_logits(inputs)
        batch = ClassifierQuantities(
            features=features,
            logits=self.classifier.fused(features),
            labels=labels_of(data_samples),
            mask=self._mask(data_samples),
            old_heads=self.old_heads,
            num_old_tasks=len(self.channels) - 1,
            num_new=self.num_new,
            num_old=self.num_old)
        if self.needs_teacher:
            batch['old_logits'] = self.required_teacher().all_logits(inputs)
        values = self.named_losses(batch)
        values['acc'] = accuracy(
            batch['logits'], batch['labels'], batch['mask'])
        return values

    @torch.no_grad()
    def all_logits(self, inputs: Tensor) -> Tensor:
        """Logits of all heads, (B, C), as constants."""
        return self.classifier.fused(self.pre_logits(inputs))

    def predict(self, inputs: Tensor,
                data_samples: Samples | None = None) -> list:
        """Score the channels; those that do not compete score 0.

        Returns the samples with ``pred_score`` and ``pred_label``, or one
        ``BatchSamples`` with ``pred_score`` (B, C).
        """
        logits = self.classifier(self.pre_logits(inputs))
        scores = masked(logits, self._mask(data_samples)).softmax(1)
        if isinstance(data_samples, BatchSamples):
            return [BatchSamples(
                data_samples.gt_label, data_samples.task, scores)]
        samples = data_samples or [DataSample() for _ in scores]
        for sample, score, label in zip(
                samples, scores, scores.argmax(1), strict=True):
            sample.set_pred_score(score).set_pred_label(label)
        return samples

    def _mask(self, samples: Samples | None) -> Tensor | None:
        """Channels of each image's own head, (B, C), or None for all."""
        if not self.per_task:
            return None
        tasks, known = tasks_of(samples), range(len(self.heads))
        if tasks is None and len(known) == 1:
            return None
        if tasks is None:
            raise ValueError(
                f'There are {len(known)} heads, one per task, so the task of '
                'every image is needed: give data samples with a field '
                '`task`.')
        try:
            # checks the range by itself; asking first would wait for a GPU
            return self.own_channels.index_select(
                0, tasks.to(self.own_channels.device))
        except IndexError as error:
            unknown = next(t for t in tasks.tolist() if t not in known)
            raise ValueError(
                f'An image is of task {unknown}, but there are heads of the '
                f'tasks {list(known)} only.') from error


def head_places(channels: Sequence[int], per_task: bool) -> list:
    """First channel and size of every head."""
    if not per_task:
        return [(0, sum(channels))]
    ends = itertools.accumulate(channels)
    return [(end - size, size)
            for end, size in zip(ends, channels, strict=True)]


def labels_of(samples: Samples) -> Tensor:
    """Channels of the images, (B,)."""
    if isinstance(samples, BatchSamples):
        return samples.gt_label
    return torch.cat([sample.gt_label for sample in samples])


def tasks_of(samples: Samples | None) -> Tensor | None:
    """Tasks of the images, (B,), or None where they are not known."""
    if isinstance(samples, BatchSamples):
        return samples.task
    if not samples or 'task' not in samples[0]:
        return None
    return torch.tensor([int(sample.task) for sample in samples])


def masked(logits: Tensor, mask: Tensor | None) -> Tensor:
    """Exclude the channels that do not compete, (B, C)."""
    return logits if mask is None else logits.masked_fill(
        ~mask, float('-inf'))


@torch.no_grad()
def accuracy(logits: Tensor, labels: Tensor, mask: Tensor | None) -> Tensor:
    """Percent of hits among the channels that compete."""
    return 100 * (masked(logits, mask).argmax(1) == labels).float().mean()
