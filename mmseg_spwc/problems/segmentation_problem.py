"""A sequence of segmentation steps."""
import dataclasses
import math
from collections import Counter
from collections.abc import Iterator, Mapping

import torch
from mmengine.config import Config
from mmengine.runner import Runner, ValLoop
from mmengine.structures import PixelData
from mmseg.structures import SegDataSample
from torch.utils.data import Dataset

from mmseg_spwc.datasets.labelled_images import (
    LabelledImages,
    insert_label_map,
    pipeline_of,
    replayed_images,
)
from mmseg_spwc.errors import ConfigError
from mmseg_spwc.evaluation.iou import group_means, step_means
from mmseg_spwc.memory import Replay
from mmseg_spwc.scenario import Scenario
from mmseg_spwc.terminal import warn

from .problem import ABSENT, Problem, parts_of

CROPS = ('mmseg_spwc.AreaRandomResizedCrop', 'mmseg_spwc.ShortSideCentreCrop')


class Segmentation(Problem):
    """mmseg's segmentors and datasets, scored by IoU."""

    family = 'mmseg'
    models = ('EncoderDecoder', 'ContinualEncoderDecoder')
    student = 'mmseg_spwc.ContinualEncoderDecoder'
    dataset = 'mmseg_spwc.ContinualSegDataset'
    folder = 'BaseSegDataset'
    metric = 'mmseg_spwc.ContinualIoUMetric'
    replaced = ('IoUMetric', )

    def fit_model(self, model: Config, cfg: Config, scenario: Scenario,
                  step: int) -> None:
        model.setdefault('losses', {})
        crop = _crop(cfg)
        if crop is not None:
            model.data_preprocessor.size = (crop, crop)
        heads = [model.decode_head]
        auxiliary = model.get('auxiliary_head')
        if auxiliary:
            heads += auxiliary if isinstance(auxiliary, list) else [auxiliary]
        for head in heads:
            head.num_classes = scenario.num_channels(step)

    def blank_batch(self, out: Config, device: str) -> dict:
        batch = out.train_dataloader.batch_size
        size = tuple(out.model.data_preprocessor.size)
        labels = torch.empty(batch, 1, *size, dtype=torch.long, device=device)
        meta = dict(img_shape=size, ori_shape=size, pad_shape=size)
        return dict(
            inputs=torch.empty(batch, 3, *size, device=device),
            data_samples=[SegDataSample(gt_sem_seg=PixelData(data=label),
                                        metainfo=meta) for label in labels])

    def fit_loaders(self, out: Config, cfg: Config) -> tuple[dict, dict]:
        if not out.test_dataloader.get('batch_size'):
            out.test_dataloader.batch_size = 1
        for name in ('train_pipeline', 'test_pipeline'):  # inference's
            _set_crop(out.get(name) or [], _crop(cfg))
        room = cfg.get('keep_decoded')
        return (dict(cache_dir=cfg.get('cache_dir')),
                dict(keep_decoded=room) if room else {})

    def fit_source(self, source: Mapping, cfg: Config) -> None:
        super().fit_source(source, cfg)
        for part in parts_of(source):
            _set_crop(part['pipeline'], _crop(cfg))

    def own_source(self, step: object, role: str, shared: Mapping,
                   cfg: Config) -> dict | None:
        source = super().own_source(step, role, shared, cfg)
        for part in parts_of(source) if source else ():
            _set_crop(part.get('pipeline') or [], _crop(cfg))
        return source

    def count(self, configs: Mapping[int, Config],
              scenario: Scenario) -> tuple[dict, dict]:
        found, counts = {}, {}  # datasets are read once, not at every step
        for step, cfg in configs.items():
            counts[step] = {}
            for role, loader in (('train', cfg.train_dataloader),
                                 ('heldout', cfg.get('val_dataloader')),
                                 ('test', cfg.test_dataloader)):
                if not loader:
                    continue
                dataset = loader.dataset
                held, joint = dataset.get('heldout'), dataset.get(
                    'cumulative', False)
                chosen = {
                    images: images.choose(step, role, held, joint)
                    for images in _images(found, dataset, scenario, step,
                                          role, joint)
                }
                counts[step][role] = sum(map(len, chosen.values()))
                if role == 'train':
                    _warn_of_absent(chosen, scenario, step)
                replay = Replay.of(dataset.get('replay'), role, joint)
                if replay is not None:
                    images = list(_images(found, dataset, scenario, step,
                                          role, True))
                    memory, replayed = (
                        replayed_images(images, scenario, step, held, option)
                        for option in (
                            dataclasses.replace(replay, duplicates=True),
                            replay))
                    counts[step]['replay'] = len(replayed)
                    self.tell_shortages(replay, memory, scenario, step)
        return counts, {}

    def entry(self, runner: Runner, scenario: Scenario, step: int) -> dict:
        test = self.test_scores(runner)
        dataset = runner.test_loop.dataloader.dataset
        classes = list(dataset.metainfo['classes'])
        iou = _class_scores(test, classes)
        base = scenario.base_channels()
        return dict(
            **_apart(test, dataset, classes),
            step=step,
            classes=classes,
            class_ids=[int(c) for c in scenario.seen_classes(step)],
            iou=iou,
            miou=group_means(iou, base, scenario.has_background),
            miou_by_step=_by_step(test, iou, scenario, step),
            pixel_accuracy=_known(test.get('aAcc')),
            mean_accuracy=_known(test.get('mAcc')),
            kpi=self.held_out_kpi(runner, scenario, step))

    def kpi(self, metrics: Mapping, loop: ValLoop, scenario: Scenario,
            step: int) -> dict:
        classes = loop.dataloader.dataset.metainfo['classes']
        scores = _class_scores(metrics, classes)
        steps = _by_step(metrics, scores, scenario, step)
        return {'split': 'heldout', 'class': scores, 'step': steps}

    def summary(self, steps: list) -> dict:
        means = [
            s['miou']['all'] for s in steps if s['miou']['all'] is not None
        ]
        last = steps[-1]
        return dict(
            **last['miou'],
            average_miou=math.fsum(means) / len(means) if means else None,
            pixel_accuracy=last['pixel_accuracy'])


def _crop(cfg: Config) -> int | None:
    # mmseg's own configs keep a tuple under this name, for themselves
    crop = cfg.get('crop_size')
    return crop if isinstance(crop, int) else None


def _set_crop(pipeline: list, crop: int | None) -> None:
    for transform in pipeline:
        if transform['type'] in CROPS and crop is not None:
            transform['size'] = crop
        elif transform['type'] in CROPS and 'size' not in transform:
            raise ConfigError('crop_size is missing: give the side of the '
                              'crops, a whole number above 0.')


def _images(found: dict, dataset: Mapping, scenario: Scenario, step: int,
            role: str, cumulative: bool) -> Iterator[LabelledImages]:
    """The datasets that play a role at a step; ``found`` keeps them."""
    for source in scenario.sources(role, step, cumulative):
        key = source, role == 'test'
        if key not in found:
            config = dataset.dataset if source is None else dataset.own[source]
            insert_label_map(pipeline_of(config), [])  # or say why not
            found[key] = LabelledImages(config, scenario, source,
                                        dataset.cache_dir)
        yield found[key]


def _warn_of_absent(chosen: Mapping[LabelledImages, set],
                    scenario: Scenario, step: int) -> None:
    """Name the classes of a step that none of its images shows."""
    absent = set(scenario.new_classes(step)).difference(*(
        images.labels.classes(images.index[name])
        for images, names in chosen.items() for name in names))
    if not absent or not chosen:
        return
    meta = next(iter(chosen)).dataset.metainfo.get('classes') or ()
    names = zip(scenario.class_names(meta, step), scenario.seen_classes(step),
                strict=True)
    warn(ABSENT.format(step, ', '.join(
        name for name, c in names if c in absent)))


def _apart(metrics: Mapping, dataset: Dataset, classes: list) -> dict:
    """Scores on each of several test sets."""
    sets = Counter(part.facts['test_set'] for part, _ in dataset.samples
                   if part.facts)
    return dict(test_sets=[
        dict(step=first, images=count,
             miou=_known(metrics.get(f'mIoU.set_{first}')),
             iou=_class_scores(metrics, classes, f'.set_{first}'))
        for first, count in sets.items()]) if sets else {}


def _by_step(metrics: Mapping, scores: list, scenario: Scenario,
             step: int) -> list:
    if scenario.kind != 'domain':
        return step_means(scores, scenario.step_of_channel(step))
    return [
        _known(metrics.get(f'mIoU.step_{s}'))
        for s in range(step + 1)
    ]


def _class_scores(metrics: Mapping, classes: list, of: str = '') -> list:
    return [_known(metrics.get(f'IoU.{name}{of}')) for name in classes]


def _known(value: float | None) -> float | None:
    return None if value is None or math.isnan(value) else float(value)
