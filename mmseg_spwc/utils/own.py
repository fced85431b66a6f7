"""Tells the records of this user's own runs from everybody else's.

A run seals its config with a key that only its user can read. A sealed
config has been run by this user before; any other is a stranger's.
"""
import hashlib
import hmac
import os
import secrets
import stat
from pathlib import Path

KEY = 'key'
ADVICE = ('Whoever wrote the record could run anything here with it: if you '
          'trust them, add --trust.')


def cache_folder(chosen: str | None = None) -> Path:
    """Where a user's indices and key are kept."""
    chosen = chosen or os.environ.get('MMSEG_SPWC_CACHE')
    return Path(chosen or Path.home() / '.cache' / 'mmseg_spwc')


def seal(text: str) -> str | None:
    """Return what only this user can write under a text, None without a key.
    """
    key = _key(make=True)
    return key and _sign(key, text)


def is_sealed(text: str, found: object) -> bool:
    """Whether this user sealed a text."""
    key = _key()
    return bool(key) and isinstance(found, str) and hmac.compare_digest(
        _sign(key, text).encode(), found.encode())


def _sign(key: bytes, text: str) -> str:
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


def _key(make: bool = False) -> bytes | None:
    """The user's key; None if there is none that is theirs alone."""
    path = cache_folder() / KEY
    try:
        if make and not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with open(handle, 'wb') as file:
                file.write(secrets.token_bytes(32))
        with path.open('rb') as file:
            about = os.fstat(file.fileno())
            if about.st_uid != os.getuid() or about.st_mode & (
                    stat.S_IRWXG | stat.S_IRWXO):
                return None
            key = file.read(64)
    except (OSError, RuntimeError):  # without a home
        return None
    return key if len(key) == 32 else None
