"""One axis over the whole sequence in any of MMEngine's backends.

MMEngine's W&B and MLflow begin a run whenever a visualiser is used and end it
with every ``runner.train()`` and ``runner.test()``: three runs per step. Those
here keep the id of the run in ``work_dir/sequence`` and go on with it, in the
next step and after ``--resume`` alike.
"""
import os
import uuid
from pathlib import Path

import numpy as np
from mmengine.config import Config
from mmengine.logging import MessageHub
from mmengine.visualization.vis_backend import (
    BaseVisBackend,
    MLflowVisBackend,
    WandbVisBackend,
    force_init_env,
)

from mmseg_spwc.registry import VISBACKENDS
from mmseg_spwc.utils.files import write_text

FOLDER = 'sequence'
ITERATION = 'sequence/iteration'
# MMEngine's backends that would begin a new run with every step, and ours
ONE_RUN = dict(
    WandbVisBackend='mmseg_spwc.OneRunWandbVisBackend',
    MLflowVisBackend='mmseg_spwc.OneRunMLflowVisBackend')


@VISBACKENDS.register_module()
class SequenceVisBackend(BaseVisBackend):
    """Passes on what a step logs, with iterations counted over all steps.

    MMEngine's Runner counts every step from 0 and logs it to a folder of its
    own. Here all steps write to ``work_dir/sequence``, and the iterations of
    finished steps are added (:meth:`go_on`). The scalar
    ``sequence/step`` is a staircase that shows where steps begin. ::

        visualizer = dict(vis_backends=[
            dict(type='LocalVisBackend'),
            dict(type='mmseg_spwc.SequenceVisBackend',
                 backend=dict(type='TensorboardVisBackend'))])

    Args:
        save_dir (str): The step's folder, ``work_dir/step_NN/TIME/vis_data``,
            as MMEngine gives it.
        backend (dict): Config of the backend that stores.
    """

    def __init__(self, save_dir: str, backend: dict) -> None:
        super().__init__(save_dir)
        self.step = self.offset = self.newest = 0
        kind = ONE_RUN.get(backend['type'], backend['type'])
        self.backend = VISBACKENDS.build(dict(
            backend, type=kind,
            save_dir=str(Path(save_dir).parents[2] / FOLDER)))

    def go_on(self, step: int, iterations: int) -> None:
        """Take a place in the sequence, after so many iterations."""
        self.step, self.offset = step, iterations

    def _init_env(self) -> None:
        self.backend._init_env()

    @property
    def experiment(self) -> object:
        return self.backend.experiment

    def add_config(self, config: Config, **kwargs) -> None:
        self.backend.add_config(config, **kwargs)

    def add_graph(self, model, data_batch, **kwargs) -> None:
        self.backend.add_graph(model, data_batch, **kwargs)

    def add_image(self, name, image, step: int = 0, **kwargs) -> None:
        self.backend.add_image(name, image, self._place(step), **kwargs)

    def add_scalar(self, name, value, step: int = 0, **kwargs) -> None:
        self.add_scalars({name: value}, step, **kwargs)

    def add_scalars(self, scalar_dict: dict, step: int = 0,
                    file_path: str | None = None, **kwargs) -> None:
        scalars = {'sequence/step': self.step, **scalar_dict}
        self.backend.add_scalars(scalars, self._place(step), **kwargs)

    def close(self) -> None:
        self.backend.close()

    def _place(self, step: int) -> int:
        """The iteration in the sequence.

        Scores come with their epoch, or with 0, which is less than the
        iterations before: they belong to the newest iteration. After a
        resumption only MMEngine's hub knows it.
        """
        hub = MessageHub.get_current_instance()
        self.newest = max(self.newest, step, hub.get_info('iter', 0))
        return self.offset + self.newest


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
        super().__init__(save_dir, dict(
            dict(name=Path(save_dir).parent.name, resume='allow',
                 allow_val_change=True), **init_kwargs or {}), **kwargs)

    def _init_env(self) -> None:
        import wandb
        path = Path(self._save_dir) / 'wandb_id'
        if 'id' not in self._init_kwargs:
            if not path.exists():
                write_text(path, uuid.uuid4().hex)
            self._init_kwargs['id'] = path.read_text().strip()
        if wandb.run is not None and wandb.run.id == self._init_kwargs['id']:
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
        self.add_scalars({name: self._wandb.Image(image)}, step)

    def add_scalars(self, scalar_dict: dict, step: int = 0,
                    file_path: str | None = None, **kwargs) -> None:
        super().add_scalars({**scalar_dict, ITERATION: step})

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
        self.begun = not path.exists()
        run = mlflow.start_run(
            run_id=None if self.begun else path.read_text().strip(),
            **self.facts)
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
