"""Weights from elsewhere, read without running what they may hold."""
import contextlib
import os
import pickle
from collections.abc import Iterator

from mmengine.runner import CheckpointLoader

from mmseg_spwc.errors import CheckpointError

_ALWAYS = 'TORCH_FORCE_WEIGHTS_ONLY_LOAD'
_NEVER = 'TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD'


def load_plain(source: str) -> dict:
    """Read weights through MMEngine, from wherever it can read.

    Args:
        source (str): A file, a URL, or a name such as
            ``torchvision://resnet18``.

    Returns:
        dict: A state dict, or a checkpoint that holds one.

    Raises:
        CheckpointError: If it holds more than tensors, numbers and text.
    """
    try:
        with _tensors_only():
            return CheckpointLoader.load_checkpoint(source, 'cpu')
    except pickle.UnpicklingError as error:
        raise CheckpointError(
            f'{source} cannot be read as plain tensors: it is damaged, or '
            'holds objects whose loading may run code. If you trust it, '
            'convert it once: python -c "import torch; c = torch.load('
            "'FILE', 'cpu', weights_only=False); torch.save("
            "c.get('state_dict', c), 'plain.pth')\", and give plain.pth."
        ) from error


@contextlib.contextmanager
def _tensors_only() -> Iterator[None]:
    """Have every ``torch.load`` refuse code.

    MMEngine leaves the choice to torch, whose default depends on its version
    and which listens to these variables.
    """
    before = {name: os.environ.pop(name, None) for name in (_ALWAYS, _NEVER)}
    os.environ[_ALWAYS] = '1'
    try:
        yield
    finally:
        del os.environ[_ALWAYS]
        os.environ.update({k: v for k, v in before.items() if v is not None})
