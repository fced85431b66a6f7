"""Files that are either whole or not there."""
import contextlib
import errno
import io
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import safetensors.torch
import torch

SUFFIX = '.part'  # of files that are not complete yet


@contextlib.contextmanager
def atomic_path(path: str | os.PathLike) -> Iterator[Path]:
    """Give a temporary path that is flushed and renamed to ``path`` when the
    block succeeds; otherwise what was there stays."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(
        prefix=f'.{path.name}.', suffix=SUFFIX, dir=path.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        _flush(temporary)
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
        _flush(path.parent)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def is_inside(path: str | os.PathLike, folder: str | os.PathLike) -> bool:
    """Whether a path, with links followed, is in a folder."""
    return '\0' not in str(path) and Path(path).resolve().is_relative_to(
        Path(folder).resolve())


def remove_leftovers(folder: str | os.PathLike) -> None:
    """Remove files below a folder that a kill left unfinished; no other
    process may be writing there."""
    for path in Path(folder).rglob(f'.*{SUFFIX}'):
        path.unlink(missing_ok=True)


def read_text(path: str | os.PathLike) -> str:
    """Read a text file; a pipe or a device might never end."""
    path = Path(path)
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, 'it is no file', str(path))
    return path.read_text(encoding='utf-8')


def write_text(path: str | os.PathLike, text: str) -> None:
    """Write a text file atomically."""
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding='utf-8')


def write_tensors(path: str | os.PathLike, content: dict) -> None:
    """Write what ``torch.load`` reads, atomically.

    It is put together in memory: torch reports a full disk as an error of
    its own archive, Python as what it is.
    """
    buffer = io.BytesIO()
    torch.save(content, buffer)
    with atomic_path(path) as temporary:
        temporary.write_bytes(buffer.getbuffer())


def write_safetensors(path: str | os.PathLike,
                      tensors: Mapping[str, torch.Tensor],
                      header: Mapping[str, str] | None = None) -> None:
    """Write what ``safetensors`` reads, as :func:`write_tensors` does."""
    content = safetensors.torch.save(dict(tensors), header and dict(header))
    with atomic_path(path) as temporary:
        temporary.write_bytes(content)


def _flush(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
