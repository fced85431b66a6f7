"""A sequence of segmentation steps."""
import math
from collections.abc import Mapping

import torch
from mmengine.config import Config
from mmengine.runner import Runner, ValLoop
from mmengine.structures import PixelData
from mmseg.structures import SegDataSample

from mmseg_spwc.datasets.continual_seg import (
    build_source,
    choose,
    index_of,
    insert_label_map,
    pipeline_of,
)
from mmseg_spwc.datasets.replayed import replay_of, replayed_images
from mmseg_spwc.errors import ConfigError
from mmseg_spwc.evaluation.iou import group_means, step_means
from mmseg_spwc.scenario import Scenario

from .problem import Problem, parts_of

CROPS = ('mmseg_spwc.AreaRandomResizedCrop', 'mmseg_spwc.ShortSideCentreCrop')


class Segmentation(Problem):
    """mmseg's segmentors and datasets, scored by IoU."""

    family = 'mmseg'
    models = ('EncoderDecoder', 'ContinualEncoderDecoder')
    student = 'mmseg_spwc.ContinualEncoderDecoder'
    dataset = 'mmseg_spwc.ContinualSegDataset'
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

    def count(self, configs: Mapping[int, Config],
              scenario: Scenario) -> tuple[dict, dict]:
        first = next(iter(configs.values()))
        indices = {}
        for role, loader in (('train', first.train_dataloader),
                             ('test', first.test_dataloader)):
            source = loader.dataset.dataset
            index = index_of(build_source(source), source, scenario,
                             loader.dataset.cache_dir)
            insert_label_map(pipeline_of(source), [])  # or say why not
            indices[role] = index
        counts = {
            step: {
                role: len(
                    choose(indices[source], scenario, step, role,
                           dataset.get('heldout'),
                           dataset.get('cumulative', False)))
                for role, source, dataset in _roles(cfg)
            }
            for step, cfg in configs.items()
        }
        for step, cfg in configs.items():
            data = cfg.train_dataloader.dataset
            if data.get('replay') is not None:
                replay = replay_of(data.replay, 'train',
                                   data.get('cumulative', False))
                memory = replayed_images(indices['train'], scenario, step,
                                         data.get('heldout'), replay)
                counts[step]['replay'] = len(memory)
                self.tell_shortages(replay, memory, scenario, step)
        return counts, {}

    def entry(self, runner: Runner, scenario: Scenario, step: int) -> dict:
        test = runner.test()
        classes = list(runner.test_loop.dataloader.dataset.metainfo['classes'])
        iou = _class_scores(test, classes)
        base = scenario.base_channels()
        return dict(
            step=step,
            classes=classes,
            class_ids=[int(c) for c in scenario.seen_classes(step)],
            iou=iou,
            miou=group_means(iou, base, scenario.has_background),
            miou_by_step=_by_step(test, iou, scenario, step),
            pixel_accuracy=_known(test['aAcc']),
            mean_accuracy=_known(test['mAcc']),
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


def _roles(cfg: Config) -> list:
    roles = [('train', 'train', cfg.train_dataloader.dataset),
             ('test', 'test', cfg.test_dataloader.dataset)]
    if cfg.get('val_dataloader'):
        roles.insert(1, ('heldout', 'train', cfg.val_dataloader.dataset))
    return roles


def _by_step(metrics: Mapping, scores: list, scenario: Scenario,
             step: int) -> list:
    if scenario.kind != 'domain':
        return step_means(scores, scenario.step_of_channel(step))
    return [
        _known(metrics.get(f'mIoU.step_{s}', math.nan))
        for s in range(step + 1)
    ]


def _class_scores(metrics: Mapping, classes: list) -> list:
    return [_known(metrics[f'IoU.{name}']) for name in classes]


def _known(value: float) -> float | None:
    return None if math.isnan(value) else float(value)
