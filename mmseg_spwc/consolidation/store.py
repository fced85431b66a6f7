"""Importances and anchors of past steps, one file per step."""
import os
from collections.abc import Callable, Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from mmseg_spwc.utils.files import write_safetensors

FOLDER = 'consolidation'  # beside the folders of the steps
FORMAT = 'mmseg_spwc.task/1'
PREFIX = 'task_'


class StepStore:
    """The tensors of every step on disk.

    They are needed only when the weights of the steps change, so they take no
    memory while training. ``importance_dtype='bfloat16'`` halves the
    importances at a relative error of 2^-9 (float16 would lose Fisher values
    below 6e-8). Of several processes that hold the same, ``write`` may leave
    the files to one.
    """

    def __init__(self, directory: str | os.PathLike,
                 importance_dtype: str | torch.dtype = 'float32',
                 write: Callable = write_safetensors) -> None:
        if isinstance(importance_dtype, str):
            importance_dtype = getattr(torch, importance_dtype,
                                       importance_dtype)
        if importance_dtype not in (torch.float32, torch.bfloat16):
            raise ValueError(
                "importance_dtype must be 'float32' or 'bfloat16', got "
                f'{importance_dtype}')
        self.directory = Path(directory)
        self.importance_dtype = importance_dtype
        self.write = write

    def save(self, step: int, importances: Mapping[str, Tensor],
             anchors: Mapping[str, Tensor]) -> Path:
        """Write one step."""
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
        path = self._path(step)
        self.write(path, tensors, {'format': FORMAT})
        return path

    def steps(self) -> list[int]:
        """The stored steps in order."""
        return sorted(
            int(path.stem.removeprefix(PREFIX))
            for path in self.directory.glob(f'{PREFIX}*.safetensors'))

    def load(self, step: int) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        """Importances and anchors of one step, mapped from the file."""
        with self._open(step) as file:
            tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
        return tuple({
            key.removeprefix(kind): tensor
            for key, tensor in tensors.items() if key.startswith(kind)
        } for kind in ('importance.', 'anchor.'))

    def stamp(self, step: int) -> tuple[int, int]:
        """Size and time of a step's file, which change if it does."""
        state = self._path(step).stat()
        return state.st_size, state.st_mtime_ns

    def _path(self, step: int) -> Path:
        return self.directory / f'{PREFIX}{step:03d}.safetensors'

    def _open(self, step: int) -> safe_open:
        path = self._path(step)
        if not path.exists():
            raise FileNotFoundError(
                f'{path} does not exist; stored steps: {self.steps()}')
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
