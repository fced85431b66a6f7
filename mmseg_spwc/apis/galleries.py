"""Test images with the predictions of the runs, for the report."""
import copy

import numpy as np
import torch
from mmengine.dataset import pseudo_collate

from mmseg_spwc.datasets.continual_seg import ContinualSegDataset
from mmseg_spwc.errors import ConfigError
from mmseg_spwc.registry import DATASETS
from mmseg_spwc.visualization.gallery import Change, Gallery, Picture
from mmseg_spwc.visualization.runs import Comparison, Run
from mmseg_spwc.visualization.series import thinned

from .inference import is_classifier
from .step_model import StepModel, load_run, load_run_step

LOOKED_AT = 60  # test images among which changes are looked for


def make_gallery(comparison: Comparison, count: int) -> Gallery:
    """Segment some test images with the last weights of every method.

    Of several seeds the first is shown. What cannot be shown, because the
    weights or the data are elsewhere, is said in ``Gallery.missing``.
    """
    if comparison.example.problem != 'segmentation':
        changes, missing = _changes(comparison, count)
        return Gallery(changes=changes, missing=[
            'Images are shown for segmentation only.',
            *missing])
    names, truths, found, missing, style = None, {}, {}, [], None
    for group in comparison.groups:
        try:
            loaded, dataset = load_run(_shown_run(group))
            names = names or choose_images(dataset, count)
            found[group.key] = {}
            for name in names:
                image, truth, labels = segment(loaded, dataset, name)
                # later steps know more classes: theirs is the truth
                if style is None or loaded.step >= style.step:
                    truths[name] = (image, truth)
                found[group.key][name] = labels
            if style is None or loaded.step > style.step:
                style = loaded
        except Exception as error:  # a report must not fail for a picture
            found.pop(group.key, None)
            missing.append(f'{group.label}: no images ({error})')
    pictures = [
        Picture(name, *truths[name], {k: v[name] for k, v in found.items()})
        for name in (names or []) if name in truths
    ]
    if not pictures or not style.palette:
        return Gallery(missing=missing)
    changes, more = _changes(comparison, count)
    return Gallery(style.classes, style.palette, pictures, missing + more,
                   changes)


def _shown_run(group) -> Run:
    done = [r for r in group.runs if r.record.steps
            and r.record.finished_steps[-1] == group.last_step]
    if not done:
        raise ConfigError('no step is finished')
    return done[0]


def choose_images(dataset: ContinualSegDataset, count: int) -> list[str]:
    """Choose test images that show as many classes as possible.

    One after the other, the image with the most classes that none before
    has shown; the first of the list where several have as many.
    """
    classes = {name: dataset.classes_of(i)
               for i, name in enumerate(dataset.names)}
    left = list(classes)
    chosen, shown = [], set()
    while left and len(chosen) < count:
        best = max(left, key=lambda name: len(classes[name] - shown))
        if not classes[best] - shown and shown:
            shown = set()  # every class was shown: begin anew
            continue
        chosen.append(best)
        shown |= classes[best]
        left.remove(best)
    return chosen


def segment(loaded: StepModel, dataset: ContinualSegDataset,
            name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """RGB image (H, W, 3), true and predicted channels (H, W)."""
    sample = dataset[dataset.names.index(name)]
    truth = sample['data_samples'].gt_sem_seg.data[0].numpy()
    return (loaded.displayed(sample['inputs']), truth,
            _predicted(loaded, sample))


@torch.no_grad()
def _predicted(loaded: StepModel, sample: dict) -> np.ndarray | int:
    """The channels of an image (H, W), or the one of a classified image."""
    # the network writes its scores into the sample
    result = loaded.model.test_step(pseudo_collate([copy.deepcopy(sample)]))[0]
    if is_classifier(loaded):
        return int(result.pred_label)
    return result.pred_sem_seg.data[0].numpy()


def _changes(comparison: Comparison, count: int) -> tuple[dict, list]:
    changes, missing = {}, []
    for group in comparison.groups:
        try:
            changes[group.key] = find_changes(_shown_run(group), count)
        except Exception as error:  # a report must not fail for a picture
            missing.append(f'{group.label}: no changed images ({error})')
    return changes, missing


def find_changes(run: Run, count: int) -> list[Change]:
    """Test images whose prediction the last step has changed.

    Those with the largest share of changed pixels come first. A classifier
    is asked about what the step before could know.
    """
    if len(run.record.steps) < 2:
        return []
    after, dataset = load_run(run)
    before = load_run_step(run, run.inside(run.record.steps[-2]['checkpoint']))
    if is_classifier(after):
        dataset = DATASETS.build(before.cfg.test_dataloader.dataset)
    found = []
    for place in thinned(range(len(dataset)), LOOKED_AT):
        sample = dataset[place]
        labels = [_predicted(before, sample), _predicted(after, sample)]
        changed = float(np.mean(labels[0] != labels[1]))
        if changed:
            found.append((changed, place, sample, labels))
    found.sort(key=lambda item: -item[0])
    return [Change(after.displayed(sample['inputs']),
                   *_told(after, [_truth(sample), *labels]))
            for _, _, sample, labels in found[:count]]


def _truth(sample: dict) -> np.ndarray | int:
    given = sample['data_samples']
    if 'gt_label' in given:
        return int(given.gt_label)
    return given.gt_sem_seg.data[0].numpy()


def _told(loaded: StepModel, labels: list) -> list:
    """Channels as names of classes, or as a painted map."""
    if is_classifier(loaded):
        return [loaded.classes[channel] for channel in labels]
    gallery = Gallery(loaded.classes, loaded.palette)
    return [gallery.colour(channels) for channels in labels]
