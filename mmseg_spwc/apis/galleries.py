"""Test images and what the runs make of them, for the report."""

import numpy as np
import torch
from mmengine.dataset import pseudo_collate

from mmseg_spwc.datasets.continual_seg import ContinualSegDataset
from mmseg_spwc.errors import ConfigError
from mmseg_spwc.visualization.gallery import Gallery, Picture
from mmseg_spwc.visualization.runs import Comparison, Run

from .step_model import StepModel, load_run


def make_gallery(comparison: Comparison, count: int) -> Gallery:
    """Segment some test images with the last weights of every method.

    Of several seeds the first is shown. What cannot be shown, because the
    weights or the data are elsewhere, is said in ``Gallery.missing``.
    """
    if comparison.example.problem != 'segmentation':
        return Gallery(missing=['Images are shown for segmentation only.'])
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
    return Gallery(style.classes, style.palette, pictures, missing)


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
    left = [dataset.names[i] for i in dataset.positions]
    chosen, shown = [], set()
    while left and len(chosen) < count:
        best = max(left, key=lambda name: len(dataset.index[name] - shown))
        if not dataset.index[best] - shown and shown:
            shown = set()  # every class was shown: begin anew
            continue
        chosen.append(best)
        shown |= dataset.index[best]
        left.remove(best)
    return chosen


@torch.no_grad()
def segment(loaded: StepModel, dataset: ContinualSegDataset,
            name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """RGB image (H, W, 3), true and predicted channels (H, W)."""
    place = dataset.positions.index(dataset.names.index(name))
    sample = dataset[place]
    result = loaded.model.test_step(pseudo_collate([sample]))[0]
    truth = sample['data_samples'].gt_sem_seg.data[0].numpy()
    labels = result.pred_sem_seg.data[0].numpy()
    return loaded.displayed(sample['inputs']), truth, labels
