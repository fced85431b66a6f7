"""A sequence of classification tasks."""
import copy
from collections.abc import Mapping

from mmengine.config import Config
from mmengine.runner import Runner, ValLoop

from mmseg_spwc.evaluation import (
    AccuracyMatrix,
    parameter_size_efficiency,
    resident_efficiency,
    stored_efficiency,
)
from mmseg_spwc.registry import DATASETS
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

MODELS = ('ImageClassifier', 'ContinualImageClassifier')
COLLATE = dict(type='mmseg_spwc.collate_batches')


class Classification(Problem):
    """MMPretrain's classifiers and data sets, scored by accuracy."""

    weights_losses = False

    def set_model(self, out: Config, cfg: Config, scenario: Scenario,
                  step: int) -> None:
        if str(out.model.type).rpartition('.')[2] not in MODELS:
            raise ConfigError(
                f'The model is a {out.model.type}; a sequence of tasks can '
                'be trained with mmpretrain configs of type ImageClassifier.')
        out.model.type = 'mmseg_spwc.ContinualImageClassifier'
        out.model.channels = list(scenario.channels(step))
        out.model.per_task = scenario.heads == 'task'
        out.model.losses = dict(
            dict(cls=dict(type='mmseg_spwc.TaskCrossEntropyLoss')),
            **out.model.get('losses', {}))
        out.model.head.num_classes = scenario.num_channels(step)

    def set_data(self, out: Config, cfg: Config, scenario: Scenario,
                 step: int, seed: int) -> None:
        train, test = out.train_dataloader, out.test_dataloader
        test.setdefault('batch_size', train.get('batch_size') or 1)
        # no sample is repeated to fill a rank: each counts once
        test.sampler = dict(
            type='DefaultSampler', shuffle=False, round_up=False)
        for loader in (train, test):
            loader.collate_fn = COLLATE
        augment = train.dataset.pop('augment', [])
        scored = copy.deepcopy(train.dataset)
        pipeline = parts_of(test.dataset)[0].get('pipeline')
        for part in parts_of(scored) if pipeline else []:
            part['pipeline'] = copy.deepcopy(pipeline)
        for dataset in (train.dataset, scored, test.dataset):
            set_root(dataset, cfg.get('data_root'))
        heldout = dict(cfg.get('heldout') or {})
        common = dict(
            type='mmseg_spwc.ContinualClsDataset',
            scenario=scenario.to_dict(),
            step=step,
            heldout=heldout)
        set_roles(out, common, scored, seed)
        train.dataset.augment = augment
        metric = dict(
            type='mmseg_spwc.TaskAccuracy',
            scenario=scenario.to_dict(),
            step=step)
        out.val_evaluator = metric
        others = other_metrics(out.get('test_evaluator'), ())
        out.test_evaluator = dict(
            type='mmseg_spwc.BatchEvaluator', metrics=[metric, *others])
        if not heldout.get('ratio'):
            drop_validation(out)

    def count(self, configs: Mapping[int, Config],
              scenario: Scenario) -> tuple[dict, dict]:
        counts, facts = {}, {}
        for step, cfg in configs.items():
            loaders = dict(
                train=cfg.train_dataloader,
                heldout=cfg.get('val_dataloader'),
                test=cfg.test_dataloader)
            counts[step] = {}
            for role, loader in loaders.items():
                if loader:
                    dataset = DATASETS.build(loader.dataset)
                    counts[step][role] = len(dataset)
                    facts = dataset.split_facts if role == 'train' else facts
        return counts, dict(split=facts)

    def entry(self, runner: Runner, scenario: Scenario, step: int) -> dict:
        test = runner.test()
        row = _by_task(test, step)
        return dict(
            step=step,
            classes=list(
                runner.test_loop.dataloader.dataset.metainfo['classes']),
            class_ids=[int(c) for c in scenario.seen_classes(step)],
            accuracy_by_step=row,
            accuracy=dict(mean=sum(row) / len(row), all=test['accuracy.all']),
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


def accuracy_summary(rows: list, kept: list) -> dict:
    """Return the paper's numbers of a run, and those that tell more.

    Args:
        rows (list): Accuracy on every task so far, after each step.
        kept (list[dict]): ``penalised`` and ``stored`` earlier tasks of each
            step; empty for a method that holds no penalty.

    Returns:
        dict: ``average_apa``, ``average_acf``, ``final_accuracy``,
        ``forgetting``, ``bwt``, ``learning_accuracy``, ``first_accuracy``
        and the three forms of PS.
    """
    # training once on everything leaves one row that is no matrix
    square = [len(row) for row in rows] == list(range(1, len(rows) + 1))
    if not square:
        last = rows[-1]
        return dict(final_accuracy=sum(last) / len(last))
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
    return [metrics[f'accuracy.task_{t}'] for t in range(step + 1)]
