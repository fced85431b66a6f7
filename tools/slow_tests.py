"""Run the slow tests, file by file, and go on where the last call stopped.

    python tools/slow_tests.py [--fresh] [--install] [--system] [FILE ...]

What has passed is not run again until the code changes. At the end it lists
every file with its outcome and duration, and every skipped test with the
reason. --install gets the Python packages that some tests need, --system also
Chromium and Slurm, by apt and as root.
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
STATE = ROOT / '.cache/slow_tests.json'
NEEDED = ('slow', 'ray', 'optional')  # files below requirements/
PROGRAMS = {'chromium': 'chromium', 'chromedriver': 'chromium-driver',
            'slurmctld': 'slurm-wlm'}


def parse_args(argv: list | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('files', nargs='*', type=Path)
    parser.add_argument('--fresh', action='store_true',
                        help='run what has passed, too')
    parser.add_argument('--install', action='store_true')
    parser.add_argument('--system', action='store_true')
    return parser.parse_args(argv)


def main(argv: list | None = None) -> int:
    args = parse_args(argv)
    if args.install:
        install(args.system)
    state = {} if args.fresh else read(STATE)
    code = version()
    files = [f.resolve() for f in args.files] or slow_files()
    for path in files:
        name = str(path.relative_to(ROOT))
        if state.get(name, {}).get('code') == code and \
                state[name]['outcome'] == 'passed':
            continue
        print(f'{name} ...', flush=True)
        state[name] = dict(run(path), code=code)
        STATE.parent.mkdir(exist_ok=True)
        STATE.write_text(json.dumps(state, indent=1))
    return report({str(p.relative_to(ROOT)): state[
        str(p.relative_to(ROOT))] for p in files})


def slow_files() -> list[Path]:
    """Test files with a slow test, by name."""
    return sorted(path for path in ROOT.glob('tests/**/test_*.py')
                  if 'mark.slow' in path.read_text())


def run(path: Path) -> dict:
    """Run the slow tests of a file; say how it went."""
    begin = time.monotonic()
    done = subprocess.run(
        [sys.executable, '-m', 'pytest', '-m', 'slow', '-rsfE', '-q',
         '--tb=short', str(path)], cwd=ROOT, capture_output=True, text=True)
    print(done.stdout[-3000:] if done.returncode not in (0, 5) else '',
          end='')
    outcome = {0: 'passed', 5: 'passed'}.get(done.returncode, 'failed')
    skipped = re.findall(r'^SKIPPED (.*)', done.stdout, re.M)
    return dict(outcome='skipped' if skipped and ' passed' not in done.stdout
                and outcome == 'passed' else outcome,
                summary=done.stdout.strip().rpartition('\n')[2].strip('= '),
                skipped=skipped, seconds=round(time.monotonic() - begin))


def report(found: dict) -> int:
    """Print the table, and what was skipped and why."""
    width = max(map(len, found), default=0)
    for name, one in found.items():
        print(f'{name:{width}}  {one["outcome"]:7}  {one["seconds"]:5} s  '
              f'{one["summary"]}')
    for name, one in found.items():
        for reason in one['skipped']:
            print(f'skipped in {name}: {reason}')
    return int(any(one['outcome'] == 'failed' for one in found.values()))


def version() -> str:
    """What the code is: its commit, and its changes since."""
    def git(*args: str) -> str:
        return subprocess.run(['git', *args], cwd=ROOT, capture_output=True,
                              text=True).stdout.strip()
    return f'{git("rev-parse", "HEAD^{tree}")} {git("diff", "--shortstat")}'


def install(system: bool) -> None:
    """Get what tests need, as far as it can be had."""
    for name in NEEDED:
        done = subprocess.run(
            [sys.executable, '-m', 'pip', 'install', '--quiet', '-r',
             str(ROOT / f'requirements/{name}.txt')])
        if done.returncode:
            print(f'requirements/{name}.txt could not be installed.')
    missing = [package for program, package in PROGRAMS.items()
               if not shutil.which(program)]
    if not missing:
        return
    if system and os.geteuid() == 0 and shutil.which('apt-get'):
        for package in missing:
            subprocess.run(['apt-get', 'install', '-y', '-qq', package])
    else:
        print(f'Not here: {", ".join(missing)}; as root, SYSTEM=1 installs '
              'them by apt.')


def read(path: Path) -> dict:
    return json.loads(path.read_text()) if path.exists() else {}


if __name__ == '__main__':
    sys.exit(main())
