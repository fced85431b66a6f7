"""What can be wrong with parts and data, found before training."""
import functools

from mmengine.config import Config
from mmengine.dist import get_world_size

from mmseg_spwc.errors import ConfigError, input_errors
from mmseg_spwc.scenario import Scenario

from .hooks.self_paced_hook import choice_of
from .parts import check_parts
from .problems import problem_of
from .step_config import step_config


def plan_steps(cfg: Config, scenario: Scenario, steps: list) -> dict:
    """Try all parts, read all labels and count what every step will see.

    Misspelt parts, missing files, label values outside the data set, empty
    steps and batches larger than a step's images are errors here, before any
    training.

    Args:
        cfg (Config): The config of the sequence.
        scenario (Scenario): What is learnt when.
        steps (list[int]): The steps that will run.

    Returns:
        dict: ``images``, the counts by role of every step; ``iterations``
        of every step; ``facts`` for the record's scenario; ``self_paced``,
        how spWC decides at every step; and ``log_processor``, which makes
        the step's log processor config.
    """
    with input_errors('config'):
        configs = {
            step: step_config(cfg, scenario, step, get_world_size())
            for step in steps
        }
    check_parts(configs)
    counts, facts = problem_of(scenario).count(configs, scenario)
    lengths = {
        step: _iterations(configs[step], counts[step]['train'], scenario,
                          step)
        for step in steps
    }
    return dict(
        images=counts,
        iterations=lengths,
        facts=facts,
        self_paced={step: choice_of(cfg) for step, cfg in configs.items()},
        log_processor=functools.partial(_log_processor, steps, lengths))


def _iterations(cfg: Config, images: int, scenario: Scenario,
                step: int) -> int:
    batch = cfg.train_dataloader.batch_size * get_world_size()
    if images < batch:
        raise ConfigError(
            f'Step {step} (classes {list(scenario.new_classes(step))}) has '
            f'{images} training images, fewer than the total batch of '
            f'{batch}: use a smaller total_batch_size, a smaller '
            'heldout.ratio or other steps.')
    if 'max_iters' in cfg.train_cfg:
        return cfg.train_cfg.max_iters
    drop = cfg.train_dataloader.get('drop_last', False)
    per_epoch = images // batch if drop else -(-images // batch)
    return cfg.train_cfg.max_epochs * per_epoch


def _log_processor(steps: list, lengths: dict, cfg: Config,
                   step: int) -> dict:
    later = [s for s in steps if s > step]
    given = dict(cfg.get('log_processor') or {})
    given.pop('type', None)
    by_epoch = 'max_epochs' in cfg.train_cfg
    return dict(
        given,
        type='mmseg_spwc.SequenceLogProcessor',
        by_epoch=by_epoch,
        step=step,
        place=f'{steps.index(step) + 1}/{len(steps)}',
        later_iters=sum(lengths[s] for s in later))
