"""Say on one screen what is installed, what it can do, and what to do about
each gap.

    python tools/doctor.py

The exit code is 1 if training cannot work.
"""
import importlib.util
import os
import platform
import sys
from collections.abc import Iterator
from pathlib import Path

# what each adds, and the extra that installs it
OPTIONAL = {
    'mmpretrain': ('classification', 'cls'),
    'ray': ('sweeps', 'ray'),
    'pytorch_grad_cam': ('Grad-CAM', 'optional'),
    'tensorboard': ('curves in TensorBoard', 'optional'),
    'wandb': ('curves in W&B', 'trackers'),
    'mlflow': ('curves in MLflow', 'trackers'),
    'gradio': ('the web page of a model', 'web'),
}
FRAGMENTS = ('_base_/datasets/*.py', 'classification/_base_/datasets/*.py')


def main() -> int:
    print(f'Python {platform.python_version()} on {platform.platform()}')
    fault = None
    for part in (stack, devices, packages, data):
        print(f'\n{part.__doc__}')
        for line in part():
            fault = fault or (line if line.startswith('  !') else None)
            print(line)
    print('\nTraining cannot work: mend what is marked with ! first.'
          if fault else '\nTraining can work.')
    return int(fault is not None)


def stack() -> Iterator[str]:
    """Stack"""
    try:
        from mmseg_spwc import compat
    except Exception as error:  # it says what to install
        yield f'  ! {error}'
        return
    found = {module: compat.installed(names)
             for module, names in compat.REQUIRED.items()}
    for names in found.values():
        for name, version in names.items():
            yield f'  {name} {version}'
    kind = 'the maintained continuation (onedl)' if any(
        name.startswith(compat.CONTINUED) for name in found['mmengine']
    ) else "OpenMMLab's own releases"
    compiled = type(sys.modules.get('mmcv._ext')).__name__ != '_UncompiledOps'
    yield f'  {kind}; the operators of mmcv are ' + (
        'compiled' if compiled else
        'not compiled, which no config here needs')
    try:
        build_parts()
    except Exception as error:
        yield f'  ! a small run cannot begin: {type(error).__name__}: {error}'


def build_parts() -> None:
    """Build networks, losses, hooks and optimisers of a small run."""
    from mmengine.config import Config
    from mmengine.registry import init_default_scope

    import mmseg_spwc.engine  # noqa: F401
    from mmseg_spwc.compat import CONFIGS
    from mmseg_spwc.config.preflight import check_parts
    from mmseg_spwc.config.step import scenario_of, step_config
    cfg = Config.fromfile(Path(CONFIGS) / 'demo/rcil-spwc_shapes-6-1.py')
    cfg.work_dir = ''
    init_default_scope(cfg.default_scope)
    scenario = scenario_of(cfg)
    check_parts({step: step_config(cfg, scenario, step) for step in (0, 1)})


def devices() -> Iterator[str]:
    """GPUs"""
    try:
        import torch
    except ImportError:
        yield '  ! torch is missing: https://pytorch.org/get-started'
        return
    if not torch.cuda.is_available():
        built = torch.version.cuda
        yield f'  none; {os.cpu_count()} CPU cores. ' + (
            f'torch is built for CUDA {built}: look at nvidia-smi and the '
            'driver.' if built else
            'torch is a CPU build: for a GPU install one for CUDA.')
        return
    for i in range(torch.cuda.device_count()):
        free, total = (x / 2**30 for x in torch.cuda.mem_get_info(i))
        try:
            weight = torch.ones(1, 1, 3, 3, device=i, requires_grad=True)
            torch.conv2d(torch.ones(1, 1, 8, 8, device=i), weight).sum(
                ).backward()
        except RuntimeError as error:
            yield f'  ! GPU {i} does not compute: {error}'
            continue
        yield (f'  {i}: {torch.cuda.get_device_name(i)}, {free:.1f} of '
               f'{total:.1f} GiB free')
    yield '  mmseg-spwc memory CONFIG says whether a config fits'


def packages() -> Iterator[str]:
    """Optional packages"""
    for name, (what, extra) in OPTIONAL.items():
        if importlib.util.find_spec(name):
            yield f'  {name}: {what}'
        else:
            yield (f'  {name}: missing. For {what} run '
                   f"`pip install 'mmseg_spwc[{extra}]'`")


def data() -> Iterator[str]:
    """Data"""
    root = os.environ.get('MMSEG_SPWC_DATA')
    yield f'  MMSEG_SPWC_DATA={root}' if root else (
        '  MMSEG_SPWC_DATA is not set: data are looked for in ./data')
    try:
        from mmengine.config import Config

        from mmseg_spwc.compat import CONFIGS
    except Exception:  # told above
        return
    roots: dict[str, list] = {}
    for pattern in FRAGMENTS:
        for path in sorted(Path(CONFIGS).glob(pattern)):
            folder = Config.fromfile(path).get('data_root')
            if folder:
                roots.setdefault(folder, []).append(path.stem)
    for folder, names in roots.items():
        yield f'  {", ".join(names)}: ' + (
            folder if Path(folder).is_dir() else f'not at {folder}')
    yield ('  What is missing is prepared as docs/scenarios.md and '
           'docs/classification.md say; shapes and digits are generated.')


if __name__ == '__main__':
    sys.exit(main())
