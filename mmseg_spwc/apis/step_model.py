"""The network of a finished step, ready to be used.

A record keeps its config as JSON. It may come from anyone: nothing is
executed, and unless it is one's own, or trusted, its network is built by
registered parts alone and its data stay where they are.
"""
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from mmengine.config import Config
from mmengine.registry import init_default_scope
from torch import Tensor, nn
from torch.utils.data import Dataset

from mmseg_spwc.config.keys import check_keys
from mmseg_spwc.config.load import import_own
from mmseg_spwc.config.step import scenario_of, step_config
from mmseg_spwc.datasets.labelled_images import find_key
from mmseg_spwc.errors import (
    CheckpointError,
    ConfigError,
    input_errors,
    plain,
)
from mmseg_spwc.problems.problem import parts_of
from mmseg_spwc.record import FILE_NAME, Record
from mmseg_spwc.registry import DATASETS, MODELS
from mmseg_spwc.runtime.checkpoint import check_fits, load_step, load_weights
from mmseg_spwc.utils.own import ADVICE
from mmseg_spwc.visualization.runs import Run

from .foreign import strangers, without_sources


@dataclass(frozen=True)
class StepModel:
    """A network in eval mode."""
    model: nn.Module  # plain, with the weights of the step
    cfg: Config  # the complete one of the step
    step: int
    classes: list  # names of the channels; empty if not stored
    palette: list  # their colours; empty if not stored

    def displayed(self, inputs: Tensor) -> np.ndarray:
        """Turn inputs (C, H, W), before normalisation, into RGB (H, W, 3).

        A grey image gets three equal channels.
        """
        image = inputs.permute(1, 2, 0).numpy().astype(np.uint8)
        pre = self.model.data_preprocessor
        # by mmseg, its continuation and mmpretrain
        if any(getattr(pre, name, False) for name in (
                'channel_conversion', '_channel_conversion', 'to_rgb')):
            image = image[..., ::-1]
        return np.ascontiguousarray(
            np.broadcast_to(image, (*image.shape[:2], 3)))


def find_step(source: Path, step: int | None = None,
              trust: bool = False) -> tuple[Run, Path]:
    """Return the run that a folder or a ``final.pth`` belongs to."""
    if source.is_dir():
        run = Run(Record.read(source), source, trust)
        known = run.record.finished_steps
        if not known:
            raise CheckpointError(f'{source} holds no finished step yet.')
        step = known[-1] if step is None else step
        if step not in known:
            raise CheckpointError(f'{source} has no finished step {step}: '
                                  f'choose one of {known}.')
        return run, run.inside(run.record.step(step)['checkpoint'])
    load_step(source)  # say first what is wrong with the file itself
    folder = source.resolve().parent.parent
    if not (folder / FILE_NAME).is_file():
        raise CheckpointError(
            f'{source} lies in no run: there is no {FILE_NAME} in {folder}, '
            'which says how the network is built. Leave final.pth where it '
            'was written.')
    return Run(Record.read(folder), folder, trust), source


def load_step_model(cfg: Config, checkpoint: str | Path) -> StepModel:
    """Network and weights (``final.pth``) of a step; ``cfg`` is trusted."""
    return _load(cfg, checkpoint, trust=True)


def load_run_step(run: Run, checkpoint: Path,
                  cfg: Config | None = None) -> StepModel:
    """Network and weights of a step of a run, which may not be trusted."""
    cfg = cfg or config_of(run)
    with guarded(run):
        return _load(cfg, checkpoint, is_trusted(run))


def _load(cfg: Config, checkpoint: str | Path, trust: bool) -> StepModel:
    check_keys(cfg)
    init_default_scope(cfg.get('default_scope', 'mmseg'))
    content = load_step(checkpoint)
    stamp = content['stamp']
    meta = content['meta'].get('dataset_meta') or {}
    with input_errors('scenario'):
        scenario = scenario_of(cfg)
    check_fits(stamp, scenario, checkpoint)
    out = step_config(cfg, scenario, stamp.step)
    model = MODELS.build(out.model if trust else without_sources(out.model))
    model.to_plain()
    load_weights(model, content['state_dict'], checkpoint)
    return StepModel(model.eval(), out, stamp.step,
                     [plain(name) for name in meta.get('classes') or []],
                     list(meta.get('palette') or []))


def load_run(run: Run) -> tuple[StepModel, Dataset]:
    """The network of a run's last step, and its test data.

    Data that are not there are not made.
    """
    cfg = config_of(run)
    with input_errors(run.folder):
        source = cfg.test_dataloader.dataset
        root = cfg.get('data_root') or find_key(source, 'data_root')
        scenario, last = scenario_of(cfg), run.record.finished_steps[-1]
        away = None in scenario.sources('test', last) and root and \
            not Path(root).exists()
    if away:
        raise ConfigError(f'its data are not at {root}')
    if not is_trusted(run):
        raise ConfigError(
            f'{run.folder} is not from a run of yours, so no data are read '
            f'that its record names. {ADVICE}')
    loaded = load_run_step(
        run, run.inside(run.record.steps[-1]['checkpoint']), cfg)
    source = loaded.cfg.test_dataloader.dataset
    for config in (source.dataset, *source.get('own', ())):
        for part in parts_of(config) if config else ():
            part.pop('generate', None)
    return loaded, DATASETS.build(source)


def is_trusted(run: Run) -> bool:
    """Whether a run's config may do what a config of one's own may do."""
    return run.trust or run.record.is_own


def guarded(run: Run) -> AbstractContextManager:
    """A block in which the parts of a run are built: strangers' with care."""
    return nullcontext() if is_trusted(run) else strangers(run.folder)


def config_of(run: Run) -> Config:
    """Return the config of a run; it is read, not executed.

    The modules that it names in ``custom_imports`` are imported if it is
    trusted, since its types are registered there.
    """
    try:
        cfg = Config(run.record.config)
        check_keys(cfg)
    except Exception as error:  # anything may be written there
        raise ConfigError(f'The config in the record of {run.folder} cannot '
                          f'be read ({error}).') from error
    if is_trusted(run):
        import_own(cfg)
    return cfg
