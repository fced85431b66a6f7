"""Lets MMEngine write its checkpoints whole or not at all."""
from pathlib import Path

from mmengine.fileio import LocalBackend, register_backend

from mmseg_spwc.utils.files import atomic_path

NAME = 'mmseg_spwc_atomic'


class AtomicBackend(LocalBackend):
    """The local disk, where files appear only when they are complete.

    The bytes go to a temporary name, are flushed to the disk and renamed, so
    that a kill or a full disk leaves what was there before.
    """

    def put(self, obj: bytes, filepath: str | Path) -> None:
        with atomic_path(filepath) as temporary:
            temporary.write_bytes(obj)


register_backend(NAME, AtomicBackend, force=True)
