"""Importances and anchors of past tasks, one file per task."""
import json
import os
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from mmseg_spwc.utils.files import write_safetensors

from .quadratic import QuadraticPenalty

FORMAT = 'mmseg_spwc.task/1'


class TaskStore:
    """Per-task tensors on disk.

    They are needed only when the weights of the tasks change, once per step,
    so they take no memory while training. A file appears whole or not at all,
    and is read through a memory map.

    Args:
        directory: Where the files are; made when first written to.
        importance_dtype: ``torch.bfloat16`` halves the importances at a
            relative error of 2^-9. float16 would lose Fisher values below
            6e-8. Anchors are always kept in float32.
    """

    def __init__(self,
                 directory: str | os.PathLike,
                 importance_dtype: torch.dtype = torch.float32) -> None:
        if importance_dtype not in (torch.float32, torch.bfloat16):
            raise ValueError(
                'importance_dtype must be torch.float32 or torch.bfloat16, '
                f'got {importance_dtype}')
        self.directory = Path(directory)
        self.importance_dtype = importance_dtype

    def save(self, task: int, importances: Mapping[str, Tensor],
             anchors: Mapping[str, Tensor], **notes: object) -> Path:
        """Write one task; ``notes`` are kept as JSON beside the tensors."""
        tensors = {}
        for name, importance in importances.items():
            if name not in anchors:
                raise KeyError(f'{name!r} has an importance but no anchor')
            if importance.shape != anchors[name].shape:
                raise ValueError(
                    f'{name!r} has an importance of shape '
                    f'{tuple(importance.shape)} and an anchor of shape '
                    f'{tuple(anchors[name].shape)}')
            tensors[f'importance.{name}'] = _plain(importance,
                                                   self.importance_dtype)
            tensors[f'anchor.{name}'] = _plain(anchors[name], torch.float32)
        header = {'format': FORMAT, 'notes': json.dumps(notes)}
        path = self._path(task)
        write_safetensors(path, tensors, header)
        return path

    def tasks(self) -> list[int]:
        """The stored tasks in order."""
        return sorted(
            int(path.stem.removeprefix('task_'))
            for path in self.directory.glob('task_*.safetensors'))

    def load(self, task: int) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        """Importances and anchors of one task, mapped from the file."""
        with self._open(task) as file:
            tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
        return tuple({
            key.removeprefix(kind): tensor
            for key, tensor in tensors.items() if key.startswith(kind)
        } for kind in ('importance.', 'anchor.'))

    def notes(self, task: int) -> dict:
        """What :meth:`save` was told to keep beside the tensors."""
        with self._open(task) as file:
            return json.loads(file.metadata()['notes'])

    def check(self, task: int, named_params: Mapping[str, Tensor]) -> None:
        """Refuse a task that was stored for another architecture.

        Parameters the model has in addition, such as newer heads, are fine.
        """
        shapes = {name: tuple(p.shape) for name, p in named_params.items()}
        with self._open(task) as file:
            stored = {
                key.removeprefix('anchor.'):
                tuple(file.get_slice(key).get_shape())
                for key in file.keys()  # noqa: SIM118
                if key.startswith('anchor.')
            }
        wrong = [
            f'{name} is {shape} in the file, {shapes.get(name, "absent")} in '
            'the model' for name, shape in stored.items()
            if shapes.get(name) != shape
        ]
        if wrong:
            raise ValueError(
                f'{self._path(task)} was stored for another architecture, '
                f'{len(wrong)} parameters differ: {"; ".join(wrong[:5])}')

    def penalty(self,
                weights: Mapping[int, float],
                named_params: Mapping[str, Tensor] | None = None
                ) -> QuadraticPenalty:
        """Build the penalty, holding one task in memory at a time.

        Args:
            weights: Weight by task, for instance lambda * v / 2. Tasks of
                weight 0 are not read.
            named_params: Parameters of the model, to check the files against.

        Returns:
            QuadraticPenalty: The sum over the tasks.
        """
        penalty = QuadraticPenalty()
        for task, weight in weights.items():
            if weight == 0:
                continue
            if named_params is not None:
                self.check(task, named_params)
            penalty.add(weight, *self.load(task))
        return penalty

    def _path(self, task: int) -> Path:
        return self.directory / f'task_{task:03d}.safetensors'

    def _open(self, task: int) -> safe_open:
        path = self._path(task)
        if not path.exists():
            raise FileNotFoundError(
                f'{path} does not exist; stored tasks: {self.tasks()}')
        try:
            file = safe_open(path, framework='pt')
        except SafetensorError as error:
            raise ValueError(f'{path} is damaged: {error}') from error
        found = (file.metadata() or {}).get('format')
        if found != FORMAT:
            raise ValueError(
                f'{path} has format {found!r}, expected {FORMAT!r}')
        return file


def _plain(tensor: Tensor, dtype: torch.dtype) -> Tensor:
    """A contiguous copy on the CPU that shares memory with nothing."""
    plain = tensor.detach().to('cpu', dtype, copy=True)
    return plain.contiguous()
