"""Train three methods on generated shapes and put them side by side.

    python tools/run_demo.py [--work-dir work_dirs/demo]

Finetuning, RCIL and RCIL with spWC share one step 0. A second call goes on
where the first one stopped.
"""
import argparse
import subprocess
import sys
from pathlib import Path

TOOLS = Path(__file__).parent
CONFIGS = TOOLS.parent / 'configs' / 'demo'
METHODS = ('finetune', 'rcil', 'rcil-spwc')


def run(tool: str, *arguments: str) -> None:
    """Run a tool in a process of its own; end with it if it fails."""
    code = subprocess.call([sys.executable, str(TOOLS / tool), *arguments])
    if code:
        sys.exit(code)


def main() -> int:
    parser = argparse.ArgumentParser(description='Run the demo')
    parser.add_argument(
        '--work-dir', default='work_dirs/demo', help='folder for the runs')
    parser.add_argument('--cfg-options', nargs='+', default=[],
                        help='overrides of the three configs, as key=value')
    args = parser.parse_args()
    folders = [f'{args.work_dir}/{method}' for method in METHODS]
    for method, folder in zip(METHODS, folders, strict=True):
        options = list(args.cfg_options)
        if folder != folders[0]:
            options.append(f'start_from={folders[0]}/step_00/final.pth')
        run('train.py', str(CONFIGS / f'{method}_shapes-6-1.py'), '--resume',
            '--work-dir', folder,
            *(['--cfg-options', *options] if options else []))
    run('analysis_tools/compare.py', *folders)
    run('report.py', *folders, '-o', f'{args.work_dir}/report.html')
    return 0


if __name__ == '__main__':
    sys.exit(main())
