"""Makes today's OpenMMLab stack importable, and acts only where it is not.

It acts when it is imported, as every room that needs OpenMMLab does first.
Every function here probes for one fault before it acts and can be deleted
when the fault is gone upstream. None of them ever returns a made-up result:
an operator that was not compiled raises when it is called.
"""
from __future__ import annotations  # let an old Python reach the check

import contextlib
import importlib
import importlib.machinery
import importlib.metadata
import importlib.util
import os
import sys
import types
import warnings
from collections.abc import Iterable

from .errors import StackError

PYTHON = (3, 10)
# a link in a checkout, a folder in a wheel
CONFIGS = os.path.join(
    os.path.dirname(os.path.abspath(__file__)), '.mim', 'configs')
# by import name: distributions, the one to install first, with the lowest
# supported version and the first unsupported one. Those whose names begin with
# onedl are the maintained continuation of OpenMMLab's.
REQUIRED = {
    'torch': {'torch': ('2.1', '3')},
    'mmengine': {
        'mmengine': ('0.10.0', '1.0'), 'mmengine-lite': ('0.10.0', '1.0'),
        'onedl-mmengine': ('0.10.8', '1.0')},
    'mmcv': {
        'mmcv-lite': ('2.0.0', '2.2.0'), 'mmcv': ('2.0.0', '2.2.0'),
        'onedl-mmcv': ('2.3.0', '2.4.0')},
    'mmseg': {
        'mmsegmentation': ('1.2.0', '2.0'),
        'onedl-mmsegmentation': ('1.4.0', '2.0')},
}
CONTINUED = 'onedl-'


def check_stack() -> None:
    """Check that Python and every required package are supported."""
    if sys.version_info[:2] < PYTHON:
        found, wanted = ('.'.join(map(str, v[:2]))
                         for v in (sys.version_info, PYTHON))
        raise StackError(f'mmseg_spwc needs Python {wanted} or newer, this '
                         f'is {found}: make a new environment.')
    from packaging.version import Version
    for module, distributions in REQUIRED.items():
        found = installed(distributions)
        if not found:
            name, (low, high) = next(iter(distributions.items()))
            raise StackError(
                f'mmseg_spwc needs the package {module}, which is not '
                f"installed: run `pip install '{name}>={low},<{high}'`.")
        for name, version in found.items():
            low, high = distributions[name]
            if not Version(low) <= Version(version) < Version(high):
                raise StackError(
                    f'mmseg_spwc supports {module} from {low} to below '
                    f'{high}, but {version} is installed: run '
                    f"`pip install '{name}>={low},<{high}'`.")


def installed(distributions: Iterable[str]) -> dict[str, str]:
    """Those of some distributions that are there, with their versions."""
    found = {}
    for name in distributions:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found


def declare_torchvision_ops() -> None:
    """Let a torchvision without loadable compiled ops be imported.

    Built for CUDA it fails with a CPU build of torch ("operator
    torchvision::nms does not exist"), and so does ``mmengine.Runner``, which
    imports it. Declaring two schemas is enough for the import; the operators
    stay unimplemented and raise when called.
    """
    if 'torchvision' in sys.modules or not _has('torchvision'):
        return
    import torch
    if torch.version.cuda is not None or _torchvision_ops_load():
        return
    library = torch.library.Library('torchvision', 'FRAGMENT')
    signature = '(Tensor dets, Tensor scores, float iou_threshold) -> Tensor'
    for name in ('nms', 'qnms'):
        if not hasattr(torch.ops.torchvision, name):
            library.define(name + signature)
    declare_torchvision_ops.library = library  # schemas live with the library


def _torchvision_ops_load() -> bool:
    """Whether torchvision's compiled extension loads with this torch."""
    import torch
    spec = importlib.util.find_spec('torchvision')
    finder = importlib.machinery.FileFinder(
        spec.submodule_search_locations[0],
        (importlib.machinery.ExtensionFileLoader,
         importlib.machinery.EXTENSION_SUFFIXES + ['.so']))
    extension = finder.find_spec('_C')
    if extension is None:
        return False
    try:
        torch.ops.load_library(extension.origin)
    except OSError:
        return False
    return True


def stand_in_for_mmcv_ops() -> None:
    """Let ``mmseg.models``, which imports ``mmcv.ops``, work with mmcv-lite.

    A placeholder takes the place of the compiled ``mmcv._ext``; its operators
    raise when called. A full mmcv is left untouched.
    """
    if 'mmcv._ext' in sys.modules or _has('mmcv._ext'):
        return
    placeholder = _UncompiledOps('mmcv._ext')
    placeholder.__spec__ = importlib.machinery.ModuleSpec('mmcv._ext', None)
    sys.modules['mmcv._ext'] = placeholder


class _UncompiledOps(types.ModuleType):
    """A module in which every operator exists and raises when called."""

    def __getattr__(self, name: str):
        if name.startswith('__'):
            raise AttributeError(name)

        def uncompiled(*args, **kwargs):
            raise RuntimeError(
                f'The operator mmcv.ops.{name} is not compiled here: install '
                "the full package with `pip install 'mmcv==2.1.0'` (built "
                'from source where no wheel fits).')

        return uncompiled


def share_cores() -> None:
    """Let waiting OpenMP threads sleep instead of spin.

    On a shared CPU spinning threads make iterations several times as long.
    OpenMP reads this when torch is loaded.
    """
    if 'torch' not in sys.modules:
        os.environ.setdefault('OMP_WAIT_POLICY', 'PASSIVE')


def quieten_known_warnings() -> None:
    """Silence messages of old library code that a user cannot act on."""
    for message in ('.*torch.jit.script.*', '.*pkg_resources.*',
                    '.*``build_loss`` would be deprecated.*',
                    'Default ``avg_non_ignore`` is False.*'):
        warnings.filterwarnings('ignore', message=message)


def offer_configs() -> None:
    """Let a config inherit ``mmseg_spwc::rcil/...`` as it does ``mmseg::``.

    MMEngine keeps a fixed table of the packages that have configs.
    """
    from mmengine.config import Config
    from mmengine.config.utils import MODULE2PACKAGE
    others = Config._get_cfg_path
    if others.__module__ == __name__:
        return

    for module, package in MODULE2PACKAGE.items():
        # `mmseg::` and the like under the names of the continuation
        if set(installed([package, CONTINUED + package])) == {
                CONTINUED + package}:
            MODULE2PACKAGE[module] = CONTINUED + package

    def find(cfg_path: str, filename: str) -> tuple:
        package, _, name = cfg_path.partition('::')
        if package != 'mmseg_spwc':
            return others(cfg_path, filename)
        return os.path.join(CONFIGS, name), None

    Config._get_cfg_path = staticmethod(find)


def _has(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False


share_cores()
check_stack()
quieten_known_warnings()
declare_torchvision_ops()
stand_in_for_mmcv_ops()
offer_configs()
