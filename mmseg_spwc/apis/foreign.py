"""Builds the network of somebody else's record, and does nothing else.

MMEngine finds a type in its registries, and one that they do not hold it
imports: the name of any function of any module is a type. Inside
:func:`strangers` the registries are all there is, nothing is fetched,
unpickled or started, and what asks for it is refused.
"""
import contextlib
import functools
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar

from mmengine.config import ConfigDict
from mmengine.registry import registry as mmengines

from mmseg_spwc.errors import CheckpointError, ConfigError
from mmseg_spwc.runtime.checkpoint import tensors_only
from mmseg_spwc.utils.own import ADVICE

SCOPES = ('mmengine', 'mmseg', 'mmpretrain', 'mmseg_spwc')
# what reads weights from elsewhere; those of a step are in its checkpoint
FETCHED = ('init_cfg', 'pretrained')
# of sys.audit: even a registered part may load a file that its config names
NEVER = ('pickle.find_class', 'subprocess.Popen', 'os.system', 'os.exec',
         'os.posix_spawn', 'os.spawn', 'socket.connect', 'socket.getaddrinfo')

# where code lies that was installed here before any record was read
INSTALLED = tuple({os.path.realpath(path) + os.sep for path in sys.path})

# what was asked for and refused; None outside of strangers()
_refused: ContextVar[list | None] = ContextVar('refused', default=None)


@contextlib.contextmanager
def strangers(what: object) -> Iterator[None]:
    """Take types from the registries alone, in the block and its thread.

    ``what`` is built; a ConfigError names it and what it asked for.
    """
    _watch_once()
    refused: list = []
    token = _refused.set(refused)
    reason = None
    try:
        with tensors_only():
            yield
    except CheckpointError:
        raise
    except Exception as error:  # a stranger's config may break anything
        reason = error
    finally:
        _refused.reset(token)
    if refused:
        raise ConfigError(f'{what} asks for {refused[-1]}, which is no '
                          f'registered part. {ADVICE}') from reason
    if isinstance(reason, ConfigError):
        raise reason
    if reason is not None:
        raise ConfigError(f'The network of {what} cannot be built '
                          f'({type(reason).__name__}: {reason}).') from reason


def without_sources(value: object) -> object:
    """Take out, at any depth, what names weights from elsewhere."""
    if isinstance(value, Mapping):
        return ConfigDict({k: without_sources(v) for k, v in value.items()
                           if k not in FETCHED})
    if isinstance(value, (list, tuple)):
        return type(value)(map(without_sources, value))
    return value


def _is_known(name: str) -> bool:
    return name.partition('.')[0] in SCOPES


def _guarded(resolve: Callable, allowed: Callable) -> Callable:

    @functools.wraps(resolve)
    def guarded(name: str, *args):
        if _refused.get() is None or allowed(name):
            return resolve(name, *args)
        _refused.get().append(repr(name.removesuffix('.registry')))
        raise ImportError(name)

    return guarded


@functools.cache
def _watch_once() -> None:
    """Close the ways by which MMEngine leaves its registries."""
    mmengines.import_module = _guarded(mmengines.import_module, _is_known)
    mmengines.get_object_from_string = _guarded(
        mmengines.get_object_from_string, lambda name: False)
    sys.addaudithook(_watch)


def _watch(event: str, args: tuple) -> None:
    if event in NEVER and _refused.get() is not None:
        _refused.get().append(f'{event} {args[:2]}')
        raise ConfigError(f'{event} is refused.')
    if event == 'exec' and _refused.get() is not None:
        _check_code(args[0].co_filename)


def _check_code(file: str) -> None:
    """Refuse what a part would import by a path that its config names."""
    if os.path.isabs(file) and not file.startswith(INSTALLED) and \
            not os.path.realpath(file).startswith(INSTALLED):
        _refused.get().append(f'the program {file}')
        raise ConfigError(f'{file} is refused.')
