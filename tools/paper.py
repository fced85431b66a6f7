"""List the tables and figures of the paper, or run one.

    mmseg-spwc paper
    mmseg-spwc paper voc-10-1-overlapped [--scale small] [--dry-run] ...

What follows the name goes to tools/sweep.py, as for any other sweep file.
"""
import runpy
import sys
from pathlib import Path


def main() -> int:
    from mmseg_spwc.cli import MIM
    from mmseg_spwc.errors import ConfigError, user_errors
    files = {path.stem.replace('_', '-'): path for path in sorted(
        (MIM / 'configs/sweeps/paper').glob('*.py'))}
    name, *rest = sys.argv[1:] or ['--list']
    with user_errors():
        if name in ('--list', '-h', '--help'):
            print(__doc__ + listed(files))
            return 0
        if name.replace('_', '-') not in files:
            raise ConfigError(f'The paper has no {name!r} here: choose one '
                              f'of {", ".join(files)}.')
    sys.argv = ['mmseg-spwc paper', str(files[name.replace('_', '-')]), *rest]
    runpy.run_path(str(MIM / 'tools/sweep.py'), run_name='__main__')
    return 0


def listed(files: dict[str, Path]) -> str:
    """What each file makes and needs, at every scale."""
    from mmengine.config import Config

    from mmseg_spwc.sweep.sweep_file import read_sweep
    lines = []
    for name, path in files.items():
        scales = Config.fromfile(path).get('scales') or {}
        for scale in (None, *(k for k, v in scales.items() if v)):
            paper = read_sweep(path, scale).paper
            if scale is None:
                lines += ['', f'{name}: {paper["title"]}']
            if paper.get('needs'):
                lines.append(f'    {scale or "as published"}: '
                             f'{paper["needs"]}')
    return '\n'.join(lines)


if __name__ == '__main__':
    sys.exit(main())
