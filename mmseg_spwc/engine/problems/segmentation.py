"""A sequence of segmentation steps."""
import copy
import math
from collections.abc import Mapping

from mmengine.config import Config
from mmengine.runner import Runner, ValLoop

from mmseg_spwc.datasets.continual_seg import (
    build_source,
    check_label_values,
    choose,
    index_of,
    insert_label_map,
    pipeline_of,
)
from mmseg_spwc.evaluation.segmentation import group_means, step_means
from mmseg_spwc.scenario import Scenario

from ..config_keys import ConfigError
from .problem import (
    Problem,
    drop_validation,
    other_metrics,
    parts_of,
    set_roles,
    set_root,
)

CROPS = ('mmseg_spwc.AreaRandomResizedCrop', 'mmseg_spwc.ShortSideCentreCrop')
MODELS = ('EncoderDecoder', 'ContinualEncoderDecoder')


class Segmentation(Problem):
    """mmseg's segmentors and data sets, scored by IoU."""

    def set_model(self, out: Config, cfg: Config, scenario: Scenario,
                  step: int) -> None:
        if str(out.model.type).rpartition('.')[2] not in MODELS:
            raise ConfigError(
                f'The model is a {out.model.type}; a sequence can be trained '
                'with mmseg configs of type EncoderDecoder.')
        out.model.type = 'mmseg_spwc.ContinualEncoderDecoder'
        out.model.channels = list(scenario.channels(step))
        out.model.setdefault('losses', {})
        crop = _crop(cfg)
        if crop is not None:
            out.model.data_preprocessor.size = (crop, crop)
        heads = [out.model.decode_head]
        auxiliary = out.model.get('auxiliary_head')
        if auxiliary:
            heads += auxiliary if isinstance(auxiliary, list) else [auxiliary]
        for head in heads:
            head.num_classes = scenario.num_channels(step)

    def set_data(self, out: Config, cfg: Config, scenario: Scenario,
                 step: int, seed: int) -> None:
        train, test = out.train_dataloader, out.test_dataloader
        if not test.get('batch_size'):
            test.batch_size = 1
        crop = _crop(cfg)
        scored = copy.deepcopy(train.dataset)
        pipeline = parts_of(test.dataset)[0]['pipeline']
        for part in parts_of(scored):
            part['pipeline'] = copy.deepcopy(pipeline)
        for dataset in (train.dataset, scored, test.dataset):
            set_root(dataset, cfg.get('data_root'))
            for part in parts_of(dataset):
                _set_crop(part['pipeline'], crop)
        for name in ('train_pipeline', 'test_pipeline'):  # inference's
            _set_crop(out.get(name) or [], crop)
        heldout = dict(cfg.get('heldout') or {})
        common = dict(
            type='mmseg_spwc.ContinualSegDataset',
            scenario=scenario.to_dict(),
            step=step,
            heldout=heldout,
            cache_dir=cfg.get('cache_dir'))
        set_roles(out, common, scored, seed)
        metric = dict(
            type='mmseg_spwc.ContinualIoUMetric',
            scenario=scenario.to_dict(),
            step=step)
        out.val_evaluator = metric
        out.test_evaluator = [
            metric, *other_metrics(out.get('test_evaluator'), ('IoUMetric', ))
        ]
        if not heldout.get('ratio'):
            drop_validation(out)

    def count(self, configs: Mapping[int, Config],
              scenario: Scenario) -> tuple[dict, dict]:
        first = next(iter(configs.values()))
        indices = {}
        for role, loader in (('train', first.train_dataloader),
                             ('test', first.test_dataloader)):
            source = loader.dataset.dataset
            index, _ = index_of(
                build_source(source), source, loader.dataset.cache_dir)
            check_label_values(index, scenario)
            insert_label_map(pipeline_of(source), [])  # or say why not
            indices[role] = index
        counts = {
            step: {
                role: len(
                    choose(indices[source], scenario, step, role,
                           dataset.get('heldout') or {},
                           dataset.get('cumulative', False)))
                for role, source, dataset in _roles(cfg)
            }
            for step, cfg in configs.items()
        }
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
