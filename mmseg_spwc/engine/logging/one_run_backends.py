"""W&B and MLflow with one run for the whole sequence.

MMEngine's backends begin a run whenever a visualiser is used and end it with
every ``runner.train()`` and ``runner.test()``: three runs per step. These keep
the id of the run in ``work_dir/sequence`` and go on with it, in the next step
and after ``--resume`` alike.
"""
import os
import uuid
from pathlib import Path

import numpy as np
from mmengine.config import Config
from mmengine.visualization.vis_backend import (
    MLflowVisBackend,
    WandbVisBackend,
    force_init_env,
)

from mmseg_spwc.registry import VISBACKENDS
from mmseg_spwc.utils.files import write_text

ITERATION = 'sequence/iteration'


@VISBACKENDS.register_module()
class OneRunWandbVisBackend(WandbVisBackend):
    """W&B, with the iteration of the sequence as the axis of all charts.

    W&B counts calls by itself and refuses to go back, so the iteration is
    logged as a metric of its own. The run stays open between steps: offline,
    each opening would be a folder of its own. It ends with the process, or
    when another sequence begins.

    Args:
        save_dir (str): ``work_dir/sequence``.
        init_kwargs (dict, optional): Arguments of ``wandb.init``.
        **kwargs: Those of MMEngine's backend.
    """

    def __init__(self, save_dir: str, init_kwargs: dict | None = None,
                 **kwargs) -> None:
        super().__init__(save_dir, dict(init_kwargs or {}), **kwargs)

    def _init_env(self) -> None:
        import wandb
        folder = Path(self._save_dir)
        settings = self._init_kwargs
        settings.setdefault('id', _known_id(folder / 'wandb_id')
                            or _new_id(folder / 'wandb_id'))
        settings.setdefault('name', folder.parent.name)
        settings.setdefault('resume', 'allow')
        settings.setdefault('allow_val_change', True)  # configs of steps
        if wandb.run is not None and wandb.run.id == settings['id']:
            self._wandb = wandb
            return
        if wandb.run is not None:
            wandb.finish()
        super()._init_env()
        wandb.define_metric(ITERATION, hidden=True)
        wandb.define_metric('*', step_metric=ITERATION)

    @force_init_env
    def add_config(self, config: Config, **kwargs) -> None:
        """Note a step's config; the newest value of a key is shown.

        MMEngine's backend also stores every Python file below the current
        folder, at every step; here only if ``log_code_name`` is given.
        """
        if self._log_code_name:
            super().add_config(config, **kwargs)
        else:
            self._wandb.config.update(
                config.to_dict(), allow_val_change=True)

    @force_init_env
    def add_image(self, name: str, image: np.ndarray, step: int = 0,
                  **kwargs) -> None:
        self._log({name: self._wandb.Image(image)}, step)

    @force_init_env
    def add_scalar(self, name: str, value: float, step: int = 0,
                   **kwargs) -> None:
        self._log({name: value}, step)

    @force_init_env
    def add_scalars(self, scalar_dict: dict, step: int = 0,
                    file_path: str | None = None, **kwargs) -> None:
        self._log(scalar_dict, step)

    def _log(self, values: dict, step: int) -> None:
        self._wandb.log({**values, ITERATION: step}, commit=self._commit)

    def close(self) -> None:
        """Do nothing: the next step goes on with the run."""


@VISBACKENDS.register_module()
class OneRunMLflowVisBackend(MLflowVisBackend):
    """MLflow; parameters are those of the first step, since MLflow lets
    none change. Every step's own config and logs are among the artifacts.

    Args:
        save_dir (str): ``work_dir/sequence``; also the store, if no
            ``tracking_uri`` is given.
        run_name (str, optional): Defaults to the name of ``work_dir``.
        tags (dict, optional): Tags of the run.
        params (dict, optional): Further parameters.
        **kwargs: Those of MMEngine's backend.
    """

    def __init__(self, save_dir: str, run_name: str | None = None,
                 tags: dict | None = None, params: dict | None = None,
                 **kwargs) -> None:
        # MMEngine's would begin a run of its own with any of the three
        super().__init__(save_dir, **kwargs)
        self.facts = dict(
            run_name=run_name or Path(save_dir).parent.name, tags=tags)
        self.params = params or {}

    def _init_env(self) -> None:
        if self._tracking_uri is None:
            # MLflow 3 wants to be told that a store in files is meant
            os.environ.setdefault('MLFLOW_ALLOW_FILE_STORE', 'true')
        import mlflow
        mlflow.end_run()
        super()._init_env()
        path = Path(self._save_dir) / 'mlflow_id'
        known = _known_id(path)
        run = mlflow.start_run(run_id=known, **self.facts)
        self.begun = known is None
        if self.begun:
            write_text(path, run.info.run_id)
            mlflow.log_params(self.params)

    @force_init_env
    def add_config(self, config: Config, **kwargs) -> None:
        self.cfg = config
        if self.begun:
            super().add_config(config, **kwargs)

    @force_init_env
    def add_image(self, name: str, image: np.ndarray, step: int = 0,
                  **kwargs) -> None:
        self._mlflow.log_image(image, key=name, step=step)

    def close(self) -> None:
        """End the run; whatever is logged later opens it again."""
        if self._env_initialized:
            super().close()
            self._env_initialized = False


def _known_id(path: Path) -> str | None:
    return path.read_text().strip() if path.exists() else None


def _new_id(path: Path) -> str:
    found = uuid.uuid4().hex
    write_text(path, found)
    return found
