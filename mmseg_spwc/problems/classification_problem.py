"""A sequence of classification tasks."""
import math
from collections.abc import Mapping

import torch
from mmengine.config import Config
from mmengine.runner import Runner, ValLoop
from torch.utils.data import Dataset

from mmseg_spwc.errors import ConfigError
from mmseg_spwc.evaluation import (
    AccuracyMatrix,
    parameter_size_efficiency,
    resident_efficiency,
    stored_efficiency,
)
from mmseg_spwc.evaluation.iou import mean_of_known
from mmseg_spwc.registry import DATASETS
from mmseg_spwc.scenario import Scenario
from mmseg_spwc.structures import BatchSamples
from mmseg_spwc.terminal import warn

from .problem import ABSENT, Problem


class Classification(Problem):
    """MMPretrain's classifiers and datasets, scored by accuracy."""

    family = 'mmpretrain'
    models = ('ImageClassifier', 'ContinualImageClassifier')
    student = 'mmseg_spwc.ContinualImageClassifier'
    dataset = 'mmseg_spwc.ContinualClsDataset'
    folder = 'CustomDataset'
    metric = 'mmseg_spwc.TaskAccuracy'

    def fit_model(self, model: Config, cfg: Config, scenario: Scenario,
                  step: int) -> None:
        model.per_task = scenario.heads == 'per_step'
        model.losses = dict(
            dict(cls=dict(type='mmseg_spwc.TaskCrossEntropyLoss')),
            **model.get('losses', {}))
        model.head.num_classes = scenario.num_channels(step)

    def blank_batch(self, out: Config, device: str) -> dict:
        batch, model = out.train_dataloader.batch_size, out.model
        channels = len(model.data_preprocessor.get('mean') or 'RGB')
        side = model.backbone.get('image_size') or math.isqrt(
            model.backbone.get('in_features', 224**2 * channels) // channels)
        labels = torch.empty(batch, dtype=torch.long, device=device)
        return dict(
            inputs=torch.empty(batch, channels, side, side, device=device),
            data_samples=BatchSamples(labels, labels.clone()))

    def fit_loaders(self, out: Config, cfg: Config) -> tuple[dict, dict]:
        if cfg.get('keep_decoded'):
            raise ConfigError('keep_decoded is for segmentation: for images '
                              'of one size use mmseg_spwc.InMemoryImages.')
        train, test = out.train_dataloader, out.test_dataloader
        test.setdefault('batch_size', train.get('batch_size') or 1)
        _check_usual('test_dataloader.sampler', test.get('sampler'),
                     ('DefaultSampler', ))
        # no sample is repeated to fill a rank: each counts once
        test.sampler = dict(
            type='DefaultSampler', shuffle=False, round_up=False)
        for name in ('train_dataloader', 'test_dataloader'):
            _check_usual(f'{name}.collate_fn', out[name].get('collate_fn'),
                         ('default_collate', 'pseudo_collate'))
            out[name].collate_fn = dict(type='mmseg_spwc.collate_batches')
        return {}, dict(augment=train.dataset.pop('augment', []))

    def evaluator(self, metrics: list) -> Mapping:
        return dict(type='mmseg_spwc.BatchEvaluator', metrics=metrics)

    def count(self, configs: Mapping[int, Config],
              scenario: Scenario) -> tuple[dict, dict]:
        counts, facts = {}, []
        for step, cfg in configs.items():
            loaders = dict(
                train=cfg.train_dataloader,
                heldout=cfg.get('val_dataloader'),
                test=cfg.test_dataloader)
            counts[step] = {}
            for role, loader in loaders.items():
                if not loader:
                    continue
                dataset = DATASETS.build(loader.dataset)
                counts[step][role] = dataset.new
                if role == 'train':
                    facts.append(dataset.split_facts)
                    _warn_of_absent(dataset, scenario, step)
                if dataset.replay is not None:
                    counts[step]['replay'] = len(dataset.memory)
                    self.tell_shortages(dataset.replay, dataset.memory,
                                        scenario, step)
        # of data of their own, every step has its split
        return counts, dict(split=facts if scenario.data else facts[-1])

    def entry(self, runner: Runner, scenario: Scenario, step: int) -> dict:
        test = self.test_scores(runner)
        row = _by_task(test, step)
        return dict(
            step=step,
            classes=list(
                runner.test_loop.dataloader.dataset.metainfo['classes']),
            class_ids=[int(c) for c in scenario.seen_classes(step)],
            accuracy_by_step=row,
            accuracy=dict(mean=mean_of_known(row),
                          all=test.get('accuracy.all')),
            kpi=self.held_out_kpi(runner, scenario, step))

    def kpi(self, metrics: Mapping, loop: ValLoop, scenario: Scenario,
            step: int) -> dict:
        return {
            'split': 'heldout',
            'class': None,
            'step': _by_task(metrics, step)
        }

    def summary(self, steps: list) -> dict:
        return accuracy_summary(
            [s['accuracy_by_step'] for s in steps],
            [(s.get('consolidation') or {}) for s in steps])


def _check_usual(where: str, given: Mapping | None, usual: tuple) -> None:
    """Refuse a part of MMPretrain's loaders that would be replaced."""
    if given and given.get('type') not in usual:
        raise ConfigError(f'{where} is {given.get("type")}: a sequence needs '
                          'its own, which counts every image once and keeps '
                          'batches together. Leave it out.')


def accuracy_summary(rows: list, kept: list) -> dict:
    """Return the paper's numbers of a run, and those that tell more.

    ``rows`` are the accuracies on every task so far, after each step; ``kept``
    the ``penalised`` and ``stored`` earlier tasks of each step, empty for a
    method that holds no penalty.
    """
    # training once on everything leaves one row, which is not a matrix, and
    # a task whose test images are gone leaves holes in it
    square = [len(row) for row in rows] == list(range(1, len(rows) + 1))
    if not square or None in sum(rows, []):
        return dict(final_accuracy=mean_of_known(rows[-1]))
    matrix = AccuracyMatrix(rows)
    return dict(
        average_apa=matrix.average_apa(),
        average_acf=matrix.average_acf(),
        final_accuracy=matrix.final_accuracy(),
        forgetting=matrix.forgetting(),
        bwt=matrix.bwt(),
        learning_accuracy=matrix.learning_accuracy(),
        first_accuracy=rows[0][0],
        **_parameter_size(kept))


def _parameter_size(kept: list) -> dict:
    """The three forms of PS; None for a method that holds no penalty."""
    if not all(kept):
        return dict.fromkeys(('ps_active', 'ps_stored', 'ps_resident'))
    penalised = [k['penalised'] for k in kept]
    return dict(
        ps_active=parameter_size_efficiency(penalised),
        ps_stored=stored_efficiency([k['stored'] for k in kept]),
        ps_resident=resident_efficiency(penalised))


def _by_task(metrics: Mapping, step: int) -> list:
    row = [metrics.get(f'accuracy.task_{t}') for t in range(step + 1)]
    return [None if value is None or math.isnan(value) else value
            for value in row]


def _warn_of_absent(dataset: Dataset, scenario: Scenario, step: int) -> None:
    """Name the classes of a step that none of its images shows."""
    if scenario.kind == 'domain' or not len(dataset):
        return
    shown = set(dataset.channels.tolist())
    first = scenario.num_channels(step) - scenario.new_channels(step)
    absent = set(range(first, scenario.num_channels(step))) - shown
    if absent:
        names = dataset.metainfo['classes']
        warn(ABSENT.format(step, ', '.join(names[i] for i in sorted(absent))))
