"""Measures the thresholds of a step's pseudo labels."""
import itertools

import torch
from mmengine.dist import all_reduce
from mmengine.hooks import Hook

from mmseg_spwc.models.pseudo_label import EntropyThresholds
from mmseg_spwc.models.segmentor import labels_of, named_channels
from mmseg_spwc.registry import HOOKS
from mmseg_spwc.runtime.agreement import check_agreement
from mmseg_spwc.terminal import track
from mmseg_spwc.utils.distributed import unwrap
from mmseg_spwc.utils.random_state import generators_kept


@HOOKS.register_module()
class PseudoLabelHook(Hook):
    """One pass of the old model over the training images, before training.

    The histogram of entropies is summed over all processes, so every one of
    them gets the same thresholds (the published code keeps them apart).
    """

    priority = 'NORMAL'

    @torch.no_grad()
    def before_train(self, runner) -> None:
        student = unwrap(runner.model)
        labeller = student.pseudo_label
        if labeller is None or not labeller.needs_thresholds:
            return
        loader = runner.train_dataloader
        entropies = EntropyThresholds(
            sum(student.channels), compat=labeller.compat,
            device=next(student.parameters()).device)
        batches = itertools.islice(loader, len(loader))
        with generators_kept():
            for batch in track(batches, len(loader), 'pseudo labels'):
                batch = student.data_preprocessor(batch, training=True)
                labels = labels_of(batch['data_samples'])
                logits = student.teacher.tapped_forward(
                    batch['inputs']).features.logits
                entropies.update(
                    student.upsample(logits, labels.shape[1:]), labels,
                    sum(student.channels[:-1]),
                    named_channels(batch['data_samples'], logits))
        all_reduce(entropies.histogram)
        check_agreement('about the entropies that give the thresholds',
                        histogram=entropies.histogram)
        labeller.thresholds = entropies.thresholds(
            labeller.floor, labeller.portion)
