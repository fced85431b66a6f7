"""Warns of runs that learn nothing."""

import torch
from mmengine.dist import all_reduce
from mmengine.hooks import Hook
from torch import Tensor

from mmseg_spwc.labels import VOID
from mmseg_spwc.registry import HOOKS
from mmseg_spwc.structures import BatchSamples
from mmseg_spwc.terminal import warn

CLASSES = 1024
RECENT = 20  # iterations over which the background is watched
REMEDIES = (
    'Let new classes start smaller (method.later.hooks.transition.'
    "classifier_init='zero', or 'share' with share=0.05), correct the prior "
    '(method.later.model.losses.pixel.new_offset=1.), freeze the norms '
    "(method.later.model.frozen_norm='.') or slow down all but the new "
    'classes: docs/configs.md, small steps.')


@HOOKS.register_module()
class CollapseMonitorHook(Hook):
    """Watches the loss, the background, and the share of one class.

    A model that predicts almost nothing but one class, such as background,
    where the labels show others, has collapsed. A loss whose mean over the
    second half of a window is not below that over the first half does not
    fall. A segmentor whose new classes take the background away loses it
    for good, as the next step learns from this one. Each is said once per
    step and changes nothing.

    Args:
        share (float): Share of one class in the predictions from which they
            count as collapsed. Defaults to 0.99.
        usual (float): The largest share of that class in the labels for
            which this is a surprise. Defaults to 0.9.
        window (int): Number of iterations in which the loss has to fall.
            Defaults to 500.
        background (float): Share of the old background that has to remain
            while a later step is trained. Defaults to 0.7.
    """

    priority = 'LOW'

    def __init__(self,
                 share: float = 0.99,
                 usual: float = 0.9,
                 window: int = 500,
                 background: float = 0.7) -> None:
        if not 0 < usual < share <= 1:
            raise ValueError('0 < usual < share <= 1 must hold, got usual='
                             f'{usual} and share={share}.')
        if window < 2:
            raise ValueError(f'window must be at least 2, got {window}.')
        self.share = share
        self.usual = usual
        self.window = window
        self.background = background
        self._warned = False
        self._lost = False
        self._reset()

    def after_train_iter(self, runner, batch_idx, data_batch=None,
                         outputs=None) -> None:
        if not self._lost and self.every_n_train_iters(runner, RECENT):
            self._watch_background(runner.message_hub)
        if self._warned or not self.every_n_train_iters(runner, self.window):
            return
        losses, _ = runner.message_hub.get_scalar('train/loss').data
        losses = losses[-self.window:]
        half = len(losses) // 2
        before, now = losses[:half].mean(), losses[half:].mean()
        if not now < before:  # NaN included
            self._warned = True
            warn(
                f'The loss does not fall: {before:.4g}, then {now:.4g} in '
                f'the last {len(losses)} iterations. Look at the learning '
                'rate, the labels and the frozen layers.')

    def _watch_background(self, hub) -> None:
        if 'train/bg_kept' not in hub.log_scalars:
            return
        kept = hub.get_scalar('train/bg_kept').mean(RECENT) / 100
        if kept < self.background:
            self._lost = True
            warn(f'The background is being lost: {kept:.0%} of what the step '
                 'before calls background still is, and later steps do not '
                 f'get it back. {REMEDIES}')

    def after_val_iter(self, runner, batch_idx, data_batch=None,
                       outputs=None) -> None:
        for sample in outputs or ():
            predicted, true = _labels(sample)
            if predicted is None or true is None:
                continue
            known = true != VOID
            for row, labels in enumerate((predicted, true)):
                if labels.shape == known.shape:
                    labels = labels[known]
                self._counts[row] += torch.bincount(
                    labels.flatten().long().clamp(max=CLASSES - 1),
                    minlength=CLASSES).cpu()

    after_test_iter = after_val_iter

    def after_val_epoch(self, runner, metrics=None) -> None:
        self._judge('held-out', runner)

    def after_test_epoch(self, runner, metrics=None) -> None:
        self._judge('test', runner)

    def _reset(self) -> None:
        self._counts = torch.zeros(2, CLASSES, dtype=torch.int64)

    def _judge(self, images: str, runner) -> None:
        all_reduce(self._counts)
        shares = self._counts / self._counts.sum(1, keepdim=True).clamp(min=1)
        self._reset()
        predicted, label = shares[0].max(0)
        true = shares[1, label]
        if predicted >= self.share and true <= self.usual:
            visualizer = getattr(runner, 'visualizer', None)
            meta = getattr(visualizer, 'dataset_meta', None) or {}
            names = dict(enumerate(meta.get('classes') or ()))
            warn(
                'The predictions have collapsed: class '
                f'{names.get(int(label), int(label))} is '
                f'{predicted:.1%} of what is predicted on the {images} '
                f'images, but {true:.1%} of their labels.')


def _labels(sample) -> tuple[Tensor | None, Tensor | None]:
    """Predicted and true labels of a segmented image, or of images."""
    if isinstance(sample, BatchSamples):
        return sample.pred_score.argmax(1), sample.gt_label
    get = sample.get
    if get('pred_sem_seg') is not None:
        true = get('gt_sem_seg')
        return get('pred_sem_seg').data, None if true is None else true.data
    return get('pred_label'), get('gt_label')
