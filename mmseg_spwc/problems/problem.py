"""The questions that a sequence asks about the problem it solves."""
import copy
from collections.abc import Mapping, Sequence

from mmengine.config import Config
from mmengine.runner import Runner, ValLoop

from mmseg_spwc.datasets.images.source import is_source
from mmseg_spwc.errors import ConfigError
from mmseg_spwc.memory import Replay, Sample
from mmseg_spwc.scenario import Scenario
from mmseg_spwc.terminal import warn

WRAPPERS = ('RepeatDataset', 'ClassBalancedDataset', 'MultiImageMixDataset')
ABSENT = ('No training image of step {} shows {}: nothing of that is learnt. '
          'Look at the labels and at the list of images.')


class Problem:
    """Segmentation or classification, as far as the sequence must know.

    ``set_model`` and ``set_data`` are parts of the pure function
    :func:`~mmseg_spwc.config.step.step_config`; the others count before and
    score after the training of a step.
    """

    family: str  # the project whose configs are understood
    models: tuple  # types of its models that can be trained
    student: str  # what is trained in their place
    dataset: str  # what cuts the data of a step out of a dataset
    folder: str  # what reads a step's own data, if nothing else is said
    metric: str  # what scores a step
    replaced: tuple = ()  # metrics of the config that it replaces

    def set_model(self, out: Config, cfg: Config, scenario: Scenario,
                  step: int) -> None:
        """Give the model of ``out`` the channels of the step."""
        if str(out.model.type).rpartition('.')[2] not in self.models:
            raise ConfigError(
                f'The model is of type {out.model.type}; a sequence can be '
                f'trained with {self.family} configs of type '
                f'{self.models[0]}.')
        out.model.type = self.student
        out.model.channels = list(scenario.channels(step))
        if out.get('data_preprocessor') and not out.model.get(
                'data_preprocessor'):  # as MMEngine's Runner does
            out.model.data_preprocessor = copy.deepcopy(out.data_preprocessor)
        self.fit_model(out.model, cfg, scenario, step)

    def fit_model(self, model: Config, cfg: Config, scenario: Scenario,
                  step: int) -> None:
        """Set what else the model of a step needs."""
        raise NotImplementedError

    def blank_batch(self, out: Config, device: str) -> dict:
        """A batch of the right shapes for the config of a step, as a model
        takes it; its numbers are any."""
        raise NotImplementedError

    def set_data(self, out: Config, cfg: Config, scenario: Scenario,
                 step: int, seed: int) -> None:
        """Cut the data of the step out, and choose what scores them.

        The validation loader becomes a copy of the test loader over the
        held-out slice of the training data.
        """
        train, test = out.train_dataloader, out.test_dataloader
        common, special = self.fit_loaders(out, cfg)
        scored = copy.deepcopy(train.dataset)
        pipeline = parts_of(test.dataset)[0].get('pipeline')
        for part in parts_of(scored) if pipeline else ():
            part['pipeline'] = copy.deepcopy(pipeline)
        place = dict(scenario=scenario.to_dict(), step=step)
        heldout = dict(cfg.get('heldout') or {})
        common = dict(common, type=self.dataset, heldout=heldout, **place)
        validation = copy.deepcopy(test)
        for loader, source, role, options in (
                (train, train.dataset, 'train', dict(special, seed=seed)),
                (validation, scored, 'heldout', {}),
                (test, test.dataset, 'test', {})):
            self.fit_source(source, cfg)
            if scenario.data:
                options = dict(options, own=[
                    self.own_source(given, role, source, cfg)
                    for given in cfg.scenario.steps[:step + 1]])
            loader.dataset = dict(
                common, dataset=source, role=role, **options)
        metric = dict(type=self.metric, **place)
        out.test_evaluator = self.evaluator(
            [metric, *other_metrics(out.get('test_evaluator'),
                                    self.replaced)])
        out.test_cfg = dict(dict(type='TestLoop'),
                            **(out.get('test_cfg') or {}))
        out.val_dataloader = out.val_evaluator = out.val_cfg = None
        if heldout.get('ratio') and scenario.sources('heldout', step):
            out.val_dataloader = validation
            out.val_evaluator = metric
            out.val_cfg = dict(type='ValLoop')

    def fit_loaders(self, out: Config, cfg: Config) -> tuple[dict, dict]:
        """Set what the loaders need; return options of a step's data of any
        role, and of those for training alone.
        """
        raise NotImplementedError

    def fit_source(self, source: Mapping, cfg: Config) -> None:
        """Set what the dataset inside a step's needs, such as its root."""
        root = cfg.get('data_root')
        for part in parts_of(source):
            _check_plain(part)
            if root is not None:
                part['data_root'] = root

    def own_source(self, step: object, role: str, shared: Mapping,
                   cfg: Config) -> dict | None:
        """Return the dataset of a step with data of its own, or None.

        What it does not say is as in ``shared``, the config's for that role.
        """
        data = step.get('data') if isinstance(step, Mapping) else None
        source = data and data.get('test' if role == 'test' else 'train')
        if not source:
            return None
        source = Config(dict(source=source)).source.to_dict()
        pipeline = parts_of(shared)[0].get('pipeline')
        for part in parts_of(source):
            part.setdefault('type', self.folder)
            _check_plain(part)
            root = data.get('data_root') or cfg.get('data_root')
            if root is not None:
                part.setdefault('data_root', root)
            if pipeline and not is_source(part):
                part.setdefault('pipeline', copy.deepcopy(pipeline))
        return source

    def evaluator(self, metrics: list) -> Mapping | list:
        """Return the config of what runs the metrics."""
        return metrics

    def count(self, configs: Mapping[int, Config],
              scenario: Scenario) -> tuple[dict, dict]:
        """Read the labels; return samples by step and role, and facts.

        The facts go into the record's scenario. Everything that is wrong
        with the data is an error here.
        """
        raise NotImplementedError

    def tell_shortages(self, replay: Replay, memory: Sequence[Sample],
                       scenario: Scenario, step: int) -> None:
        """Warn of a memory that is not full, or lacks old units."""
        old = range(step) if scenario.kind == 'domain' else range(
            scenario.has_background,
            scenario.num_channels(step - 1) if step else 0)
        said = replay.shortages(memory, old) if step else []
        if said:
            warn(f'At step {step} {"; ".join(said)}.')

    def entry(self, runner: Runner, scenario: Scenario, step: int) -> dict:
        """Score a step; return its entry in the record.

        ``images``, ``checkpoint``, ``cost`` and what the hooks report are
        added by the sequence.
        """
        raise NotImplementedError

    def kpi(self, metrics: Mapping, loop: ValLoop, scenario: Scenario,
            step: int) -> dict:
        """Return the scores of every unit, by class and by step."""
        raise NotImplementedError

    def summary(self, steps: list) -> dict:
        """Return the numbers of a whole run from its entries."""
        raise NotImplementedError

    def held_out_kpi(self, runner: Runner, scenario: Scenario,
                     step: int) -> dict | None:
        """Score the units on the held-out slice, if there is one."""
        if runner.cfg.get('val_dataloader') is None:
            return None
        return self.kpi(runner.val(), runner.val_loop, scenario, step)

    def test_scores(self, runner: Runner) -> Mapping:
        """Test, where there are test images."""
        dataset = runner.test_loop.dataloader.dataset
        return runner.test() if len(dataset) else {}


def _check_plain(part: Mapping) -> None:
    """Refuse datasets that show images of another one again or mixed."""
    kind = str(part.get('type')).rpartition('.')[2]
    if kind in WRAPPERS:
        raise ConfigError(
            f'The dataset is a {kind}, but a step needs every image of a '
            'dataset once, to choose its own: give the dataset inside it, '
            'and more epochs instead of repeated images.')


def other_metrics(evaluator: list | Mapping | None, own: tuple) -> list:
    """Return the metrics of a config, without those that ours replace."""
    if not evaluator:
        return []
    metrics = evaluator if isinstance(evaluator, list) else [evaluator]
    return [m for m in metrics if m['type'] not in own]


def parts_of(dataset: Mapping) -> list:
    """Return the datasets of a ``ConcatDataset``, or the one itself."""
    return dataset.get('datasets') or [dataset]
