"""One axis over the whole sequence, in any of MMEngine's backends."""
from pathlib import Path

from mmengine.config import Config
from mmengine.logging import MessageHub
from mmengine.visualization.vis_backend import BaseVisBackend

from mmseg_spwc.record import FILE_NAME, Record
from mmseg_spwc.registry import VISBACKENDS

FOLDER = 'sequence'
# MMEngine's backends that would begin a new run with every step, and ours
ONE_RUN = dict(
    WandbVisBackend='mmseg_spwc.OneRunWandbVisBackend',
    MLflowVisBackend='mmseg_spwc.OneRunMLflowVisBackend')


@VISBACKENDS.register_module()
class SequenceVisBackend(BaseVisBackend):
    """Hands on what a step logs, with iterations that count on.

    MMEngine's Runner counts every step from 0 and logs it to a folder of its
    own. Here all steps write to ``work_dir/sequence``, and the iterations of
    finished steps, which the record tells, are added. The scalar
    ``sequence/step`` is a staircase that shows where steps begin. ::

        visualizer = dict(vis_backends=[
            dict(type='LocalVisBackend'),
            dict(type='mmseg_spwc.SequenceVisBackend',
                 backend=dict(type='TensorboardVisBackend'))])

    W&B and MLflow get one run for all steps, see
    :mod:`~mmseg_spwc.engine.logging.one_run_backends`.

    Args:
        save_dir (str): The step's folder, ``work_dir/step_NN/TIME/vis_data``,
            as MMEngine gives it.
        backend (dict): Config of the backend that stores.
    """

    def __init__(self, save_dir: str, backend: dict) -> None:
        super().__init__(save_dir)
        step = Path(save_dir).parents[1]
        self.step = int(step.name.removeprefix('step_'))
        self.offset = _finished_iterations(step.parent, self.step)
        self.newest = 0
        kind = ONE_RUN.get(backend['type'], backend['type'])
        self.backend = VISBACKENDS.build(dict(
            backend, type=kind, save_dir=str(step.parent / FOLDER)))

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
        self.backend.add_scalar(name, value, self._place(step), **kwargs)

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


def _finished_iterations(work_dir: Path, step: int) -> int:
    if not (work_dir / FILE_NAME).exists():
        return 0
    return sum(entry['curves']['iterations'][-1]
               for entry in Record.read(work_dir).steps
               if entry['step'] < step and entry.get('curves', {}).get(
                   'iterations'))
