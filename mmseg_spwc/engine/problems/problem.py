"""The questions that a sequence asks about the problem it solves."""
import copy
from collections.abc import Mapping

from mmengine.config import Config
from mmengine.runner import Runner, ValLoop

from mmseg_spwc.scenario import Scenario


class Problem:
    """Segmentation or classification, as far as the sequence must know.

    ``set_model`` and ``set_data`` are parts of the pure function
    :func:`~mmseg_spwc.engine.step_config.step_config`; the others count
    before and score after the training of a step.
    """

    # whether spWC can weight the losses of a method without penalties
    weights_losses = True

    def set_model(self, out: Config, cfg: Config, scenario: Scenario,
                  step: int) -> None:
        """Give the model of ``out`` the channels of the step."""
        raise NotImplementedError

    def set_data(self, out: Config, cfg: Config, scenario: Scenario,
                 step: int, seed: int) -> None:
        """Cut the data of the step out, and choose what scores them."""
        raise NotImplementedError

    def count(self, configs: Mapping[int, Config],
              scenario: Scenario) -> tuple[dict, dict]:
        """Read the labels; return samples by step and role, and facts.

        The facts go into the record's scenario. Everything that is wrong
        with the data is an error here.
        """
        raise NotImplementedError

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


def set_roles(out: Config, common: dict, scored: Mapping, seed: int) -> None:
    """Put the step's wrapper around the data set of every loader.

    Args:
        out (Config): Changed in place; the validation loader becomes a copy
            of the test loader over the held-out slice.
        common (dict): The wrapper's config without data set and role.
        scored (Mapping): The training data set with the test's pipeline.
        seed (int): Seed of the augmentation.
    """
    train, test = out.train_dataloader, out.test_dataloader
    validation = copy.deepcopy(test)
    train.dataset = dict(
        common, dataset=train.dataset, role='train', seed=seed)
    validation.dataset = dict(common, dataset=scored, role='heldout')
    test.dataset = dict(common, dataset=test.dataset, role='test')
    out.val_dataloader = validation
    out.val_cfg = dict(type='ValLoop')
    out.test_cfg = dict(type='TestLoop')


def drop_validation(out: Config) -> None:
    """Leave the validation out, where nothing is held out for it."""
    out.val_dataloader = out.val_evaluator = out.val_cfg = None


def other_metrics(evaluator: list | Mapping | None, own: tuple) -> list:
    """Return the metrics of a config, without those that ours replace."""
    if not evaluator:
        return []
    metrics = evaluator if isinstance(evaluator, list) else [evaluator]
    return [m for m in metrics if m['type'] not in own]


def parts_of(dataset: Mapping) -> list:
    """Return the data sets of a ``ConcatDataset``, or the one itself."""
    return dataset.get('datasets') or [dataset]


def set_root(dataset: Mapping, root: str | None) -> None:
    """Set the root of the data."""
    if root is not None:
        for part in parts_of(dataset):
            part['data_root'] = root
