"""The network of a finished step, ready to be used.

A record keeps its config as JSON: it may come from anyone, and nothing is
executed.
"""
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from mmengine.config import Config
from mmengine.registry import init_default_scope
from mmengine.utils import import_modules_from_strings
from torch import Tensor, nn
from torch.utils.data import Dataset

from mmseg_spwc.datasets.continual_seg import find_key
from mmseg_spwc.engine.checkpoint import check_fits, load_step, load_weights
from mmseg_spwc.engine.config_keys import check_keys
from mmseg_spwc.engine.step_config import scenario_of, step_config
from mmseg_spwc.errors import ConfigError, input_errors
from mmseg_spwc.registry import DATASETS, MODELS
from mmseg_spwc.visualization.runs import Run


@dataclass(frozen=True)
class StepModel:
    """A network in eval mode.

    Args:
        model (nn.Module): The plain network with the step's weights.
        cfg (Config): The complete config of the step.
        step (int): The step.
        classes (list[str]): Names of the channels; empty if not stored.
        palette (list): Their colours; empty if not stored.
    """
    model: nn.Module
    cfg: Config
    step: int
    classes: list
    palette: list

    def displayed(self, inputs: Tensor) -> np.ndarray:
        """Turn inputs (C, H, W), before normalisation, into RGB (H, W, 3).

        A grey image gets three equal channels.
        """
        image = inputs.permute(1, 2, 0).numpy().astype(np.uint8)
        pre = self.model.data_preprocessor
        if getattr(pre, 'channel_conversion', False) or getattr(
                pre, 'to_rgb', False):
            image = image[..., ::-1]
        return np.ascontiguousarray(
            np.broadcast_to(image, (*image.shape[:2], 3)))


def load_step_model(cfg: Config, checkpoint: str | Path) -> StepModel:
    """Build the network of a step and load its weights.

    Args:
        cfg (Config): The config of the sequence.
        checkpoint (str | Path): ``final.pth`` of one of its steps.
    """
    check_keys(cfg)
    init_default_scope(cfg.get('default_scope', 'mmseg'))
    content = load_step(checkpoint)
    stamp, meta = content['stamp'], content['meta'].get('dataset_meta', {})
    with input_errors('scenario'):
        scenario = scenario_of(cfg)
    check_fits(stamp, scenario, checkpoint)
    out = step_config(cfg, scenario, stamp.step)
    model = MODELS.build(out.model)
    model.to_plain()
    load_weights(model, content['state_dict'], checkpoint)
    return StepModel(model.eval(), out, stamp.step,
                     list(meta.get('classes', [])),
                     list(meta.get('palette', [])))


def load_run(run: Run) -> tuple[StepModel, Dataset]:
    """Return the last step's network of a run, and its test data."""
    cfg = config_of(run)
    entry = run.record.steps[-1]
    checkpoint = run.folder / entry['checkpoint']
    loaded = load_step_model(cfg, checkpoint)
    source = loaded.cfg.test_dataloader.dataset
    root = find_key(source.dataset, 'data_root')
    if root and not Path(root).exists():
        raise ConfigError(f'its data are not at {root}')
    return loaded, DATASETS.build(source)


def config_of(run: Run) -> Config:
    """Return the config of a run; it is read, not executed.

    The modules that it names in ``custom_imports`` are imported, since its
    types are registered there.
    """
    values = run.record.config
    if values.get('custom_imports'):
        import_modules_from_strings(**values['custom_imports'])
    return Config(values)
