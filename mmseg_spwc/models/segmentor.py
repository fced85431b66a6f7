"""Any mmseg ``EncoderDecoder`` as the student of a sequence."""
import re
from collections.abc import Sequence

import torch
from mmseg.models import EncoderDecoder
from mmseg.models.utils import resize
from torch import Tensor, nn

from mmseg_spwc.labels import NOT_COUNTED, VOID
from mmseg_spwc.registry import MODELS
from mmseg_spwc.utils.options import check_options

from .growing import GrowingClassifier, grow_head
from .losses.base import is_background, shrink
from .pseudo_label import PseudoLabeller
from .quantities import Maps, SegmentorQuantities
from .student import Student
from .taps import OldPass, TappedOutputs, tap_stages

PRIORITY_ON = ('pixel', 'distillation', 'both')


@MODELS.register_module()
class ContinualEncoderDecoder(Student, EncoderDecoder):
    """A segmentor with a classifier that grows and a frozen teacher.

    Backbone, neck and heads are those of an ordinary mmseg config. Every
    head's 1x1 classifier becomes one 1x1 convolution a step. The losses are
    named parts of the config; each asks for what it needs, by name, of
    :class:`~mmseg_spwc.models.quantities.SegmentorQuantities`. The one named
    ``pixel`` also trains the auxiliary heads, times their own
    ``loss_weight``.

    Args:
        pseudo_label (dict, optional): Arguments of
            :class:`~mmseg_spwc.models.pseudo_label.PseudoLabeller`.
        pre_activation (bool): Compare the stages' maps before their last
            activation, as PLOP does. Defaults to False.
        priority_on (str): What spWC's weights multiply: ``'pixel'``, the
            cross entropy of old pixels; ``'distillation'``; or ``'both'``.
            Defaults to 'pixel'.
        argmax (str): Which rows compete for a pixel in a test: ``'all'``, so
            that one for a later class (``allocate``) may win and the pixel
            has no class, or ``'seen'``. Defaults to 'all'.
        channels_last (bool): Keep channels last in memory, which many CPUs,
            and GPUs in half precision, compute faster. Rounding differs.
            Defaults to False.
        teacher_dtype (str, optional): Precision of the teacher, such as
            'bfloat16': about half the time on hardware that computes in it,
            and accurate to two digits. Defaults to None, for that of the
            student.
        **kwargs: Those of :class:`~mmseg_spwc.models.student.Student` and of
            mmseg's ``EncoderDecoder``.
    """

    quantities = SegmentorQuantities
    priority_unit = 'class'  # of the weights that spWC sets
    rows = re.compile(r'\.conv_seg\.convs\.(\d+)\.')

    def __init__(self, *args, pseudo_label: dict | None = None,
                 pre_activation: bool = False, priority_on: str = 'pixel',
                 argmax: str = 'all', channels_last: bool = False,
                 teacher_dtype: str | None = None,
                 **kwargs) -> None:
        super().__init__(*args, **kwargs)
        self.channels_last = channels_last
        if channels_last:
            self.to(memory_format=torch.channels_last)
        self.teacher_dtype = floating_type(teacher_dtype)
        self.pre_activation = pre_activation
        self.pseudo_label = None
        if pseudo_label is not None:
            check_options(PseudoLabeller, pseudo_label, 'pseudo_label')
            self.pseudo_label = PseudoLabeller(**pseudo_label)
        self.priorities: Tensor | None = None
        if priority_on not in PRIORITY_ON:
            raise ValueError(
                f'self_paced.on is one of {", ".join(PRIORITY_ON)}, or replay '
                f'with a memory, not {priority_on!r}.')
        self.priority_on = priority_on
        if argmax not in ('all', 'seen'):
            raise ValueError(f"model.argmax is 'all' or 'seen', not "
                             f'{argmax!r}.')
        self.argmax = argmax

    def set_teacher(self, teacher: nn.Module) -> None:
        if self.teacher_dtype is not None:
            teacher.to(self.teacher_dtype)
        super().set_teacher(teacher)

    def grow(self) -> None:
        """Give every head one classifier for each step."""
        check_options(GrowingClassifier, self.of_classifier, 'classifier')
        for head in self.heads():
            made = grow_head(head, self.channels, ahead=self.ahead,
                             **self.of_classifier)
            if head is not self.decode_head and made.extra is not None \
                    and not made.unknown:
                made.extra.requires_grad_(False)  # no loss trains it
        self.out_channels = self.decode_head.out_channels

    def initialise_new(self, policy: str, share: float | None = None) -> None:
        """See :meth:`GrowingClassifier.initialise_new`."""
        for head in self.heads():
            head.conv_seg.initialise_new(policy, share=share)

    def heads(self) -> list:
        """The decode head, then the auxiliary heads."""
        auxiliary = getattr(self, 'auxiliary_head', None) or []
        return [self.decode_head, *(
            auxiliary if isinstance(auxiliary, nn.ModuleList | list) else
            [auxiliary])]

    @property
    def needs_teacher(self) -> bool:
        return self._needs_old_logits() or super().needs_teacher

    def _needs_old_logits(self) -> bool:
        weighs_old = self.priorities is not None and self.num_new > 0
        return (weighs_old or self.pseudo_label is not None
                or self.asks_for('old_logits'))

    def set_priorities(self, v: Sequence[float]) -> None:
        """Weight the pixels of every old channel from now on (spWC); new
        channels and void pixels keep weight 1."""
        self.priorities = torch.ones(VOID + 1)
        self.priorities[:len(v)] = torch.as_tensor(v).float()

    def active_labels(self, samples: Sequence) -> Tensor:
        """Channels of the pixels, (B, H, W)."""
        labels = labels_of(samples).long()
        return labels.masked_fill(labels == VOID, NOT_COUNTED)

    def tapped_forward(self, inputs: Tensor) -> TappedOutputs:
        """Run the network once and keep the maps that losses compare, in the
        precision of the inputs."""
        own = next(self.parameters()).dtype
        images = inputs.to(own)
        if self.channels_last:
            images = images.contiguous(memory_format=torch.channels_last)
        with tap_stages(self.backbone, self.pre_activation) as maps:
            stages = self.extract_feat(images)
        decoded = []
        with self.decode_head.conv_seg.register_forward_pre_hook(
                lambda _, arguments: decoded.append(arguments[0])):
            logits = self.decode_head.forward(stages)
        features = Maps((*maps, *decoded, logits))
        if own != inputs.dtype:
            features = Maps(x.to(inputs.dtype) for x in features)
        return TappedOutputs(features, stages)

    def upsample(self, logits: Tensor, size: Sequence[int]) -> Tensor:
        """Enlarge logits (B, C, h, w) to a size (H, W)."""
        return resize(logits, size=tuple(size), mode='bilinear',
                      align_corners=self.align_corners)

    def postprocess_result(self, seg_logits: Tensor,
                           data_samples: Sequence | None = None) -> list:
        """As mmseg does; a pixel that a later class wins has no class."""
        seen = sum(self.channels)
        if self.decode_head.conv_seg.unknown:
            seg_logits = unknown_joined(seg_logits)
        if self.argmax == 'seen':
            seg_logits = seg_logits[:, :seen]
        samples = super().postprocess_result(seg_logits, data_samples)
        for sample in samples if seg_logits.shape[1] > seen else ():
            channels = sample.pred_sem_seg.data
            channels[channels >= seen] = VOID
        return samples

    def try_losses(self) -> None:
        if self.train_only != 'new_rows':
            return
        batch, rows = random_batch(
            self.num_old,
            self.decode_head.conv_seg.out_channels - self.num_old)
        for name, loss in self.losses.items():
            value = self.call(loss, batch)
            parts = value.values() if isinstance(value, dict) else [value]
            total = sum(parts)
            grad = total.requires_grad and torch.autograd.grad(
                total, rows, allow_unused=True)[0]
            if grad is None or not torch.any(torch.as_tensor(grad)):
                raise ValueError(
                    f"The loss {name!r} cannot train: model.train_only="
                    "'new_rows' freezes all that it depends on. Take one of "
                    'the two out.')

    def loss(self, inputs: Tensor, data_samples: Sequence) -> dict:
        """Compute every loss of the step, and the pixel accuracy."""
        given = labels_of(data_samples)  # (B, H, W)
        outputs = self.tapped_forward(inputs)
        small = outputs.features.logits
        old = self._teacher_pass(inputs, given.shape[1:])
        named = named_channels(data_samples, small)
        labels, factor = self._relabel(given, old, named)
        batch = SegmentorQuantities(
            logits=self.upsample(small, given.shape[1:]),
            features=outputs.features,
            stages=outputs.stages,
            old_logits=old.logits,
            old_features=old.features,
            given=given,
            labels=labels,
            named=named,
            pixel_weight=self._weigh(given, old, factor, named),
            old_weight=self._weigh_old(old),
            class_weight=self._weigh_classes(),
            classifier=self.decode_head.conv_seg,
            old_classifier=self.teacher and self.teacher.decode_head.conv_seg,
            num_new=self.num_new,
            num_old=self.num_old)
        values = self.named_losses(batch)
        for i, head in enumerate(self.heads()[1:]):
            batch['logits'] = self.upsample(
                head.forward(outputs.stages), given.shape[1:])
            values[f'loss_aux_{i}'] = head.loss_decode.loss_weight * \
                self.call(self.losses['pixel'], batch)
        unknown = self.decode_head.conv_seg.unknown
        values['acc_seg'] = pixel_accuracy(
            unknown_joined(small) if unknown else small, given)
        if old.features and self.num_new and not unknown:
            values['bg_kept'] = background_kept(
                small, old.features.logits, given)
        return values

    @torch.no_grad()
    def _teacher_pass(self, inputs: Tensor, size: Sequence[int]) -> OldPass:
        if not self.needs_teacher:
            return OldPass()
        features = self.required_teacher().tapped_forward(inputs).features
        return OldPass(features, self.upsample(features.logits, size)
                       if self._needs_old_logits() else None)

    def _relabel(self, given: Tensor, old: OldPass,
                 named: Tensor | None) -> tuple:
        """Labels with pseudo labels, and each image's weight or None."""
        if self.pseudo_label is None:
            return given, None
        return self.pseudo_label(old, given, self.num_old, named)

    def _weigh(self, given: Tensor, old: OldPass, factor: Tensor | None,
               named: Tensor | None = None) -> Tensor | None:
        """Priority of a pixel's unit (spWC) times the image's factor.

        A background pixel belongs to the old class that the previous model
        sees there. In a new domain every pixel has its label, and so have
        those of old classes in a replayed image.
        """
        if factor is not None:
            factor = factor[:, None, None].expand(given.shape)
        if self.priorities is None or self.priority_on == 'distillation':
            return factor
        units = given if self.num_new == 0 else old.classes.where(
            is_background(given, self.num_old, named), given)
        weight = self._priorities_on(given.device)[units]
        return weight if factor is None else weight * factor

    def _weigh_old(self, old: OldPass) -> Tensor | None:
        """Priority (spWC) of the class that the previous model sees."""
        if (self.priorities is None or self.priority_on == 'pixel'
                or old.logits is None):  # nothing is distilled
            return None
        return self._priorities_on(old.classes.device)[old.classes]

    def _priorities_on(self, device: torch.device) -> Tensor:
        self.priorities = self.priorities.to(device)
        return self.priorities

    def _weigh_classes(self) -> Tensor | None:
        """Priority (spWC) of every old class, (C_old,)."""
        if self.priorities is None or self.priority_on == 'pixel':
            return None
        return self.priorities[:self.num_old]


def random_batch(num_old: int, num_new: int) -> tuple:
    """Quantities of a batch of noise, and its logits of the new channels,
    which alone depend on a parameter."""
    generator = torch.Generator().manual_seed(0)

    def noise(channels: int) -> Tensor:
        return torch.randn(2, channels, 8, 8, generator=generator)

    rows = noise(num_new).requires_grad_()
    logits = torch.cat([noise(num_old), rows], dim=1)
    maps = noise(4), noise(4)
    old_logits = noise(num_old)
    labels = torch.randint(
        num_old + num_new, (2, 8, 8), generator=generator)
    return SegmentorQuantities(
        logits=logits, features=Maps((*maps, logits)), stages=maps[:1],
        old_logits=old_logits,
        old_features=Maps((noise(4), noise(4), old_logits)), given=labels,
        labels=labels, named=None, pixel_weight=None, old_weight=None,
        class_weight=None,
        classifier=GrowingClassifier(4, (num_old, num_new), extra=True),
        old_classifier=GrowingClassifier(4, (num_old, )),
        num_new=num_new,
        num_old=num_old), rows


def floating_type(name: str | None) -> torch.dtype | None:
    """Return the type of a name such as 'bfloat16', or say what is wrong."""
    kind = None if name is None else getattr(torch, name, name)
    if kind is None or getattr(kind, 'is_floating_point', False):
        return kind
    raise ValueError(f"teacher_dtype is 'bfloat16', 'float16', 'float32' or "
                     f'None, not {name!r}.')


def unknown_joined(logits: Tensor) -> Tensor:
    """Add the last channel's probability, the unknown's, to the background's.

    As logits; probabilities are sigmoids, and their sum is cut off below 1.
    """
    background, others, unknown = logits.split(
        [1, logits.shape[1] - 2, 1], dim=1)
    both = background.sigmoid() + unknown.sigmoid()
    return torch.cat([both.clamp(max=1 - 1e-6).logit(), others], dim=1)


def labels_of(samples: Sequence) -> Tensor:
    """Channels of the pixels, (B, H, W)."""
    return torch.cat([sample.gt_sem_seg.data for sample in samples])


def named_channels(samples: Sequence, logits: Tensor) -> Tensor | None:
    """Channels that the labels of each image name, (B, C), bool.

    A replayed image names others than the step's, as its dataset tells. None
    where nothing is replayed.
    """
    if 'labelled' not in samples[0]:
        return None
    channels = torch.arange(logits.shape[1], device=logits.device)
    spans = torch.tensor([sample.labelled for sample in samples],
                         device=logits.device)  # (B, 2)
    return (spans[:, :1] <= channels) & (channels < spans[:, 1:])


def pixel_accuracy(logits: Tensor, labels: Tensor) -> Tensor:
    """Percent of hits among the pixels that count, at the logits' size.

    An arg-max at label size would cost as much as a stage of a small network,
    every iteration, for numbers that are only logged.
    """
    labels = shrink(labels, logits.shape[2:])
    counted = labels != VOID
    hits = (logits.argmax(1) == labels) & counted
    return 100 * hits.sum() / counted.sum().clamp(min=1)


def background_kept(logits: Tensor, old_logits: Tensor,
                    labels: Tensor) -> Tensor:
    """Percent of the previous model's background that still is background.

    Pixels of a new class do not count. Logits are small, (B, C, h, w).
    """
    labels = shrink(labels, logits.shape[2:])
    was = (old_logits.argmax(1) == 0) & (labels == 0)
    kept = was & (logits.argmax(1) == 0)
    return 100 * kept.sum() / was.sum().clamp(min=1)
