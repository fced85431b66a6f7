"""Add steps to a run, and train them in its folder.

    python tools/extend.py RUN --step "[11, 12]" [--step ...]
    python tools/extend.py RUN --step "{'classes': ['pole'], 'data': ...}"
    python tools/extend.py CONFIG [--work-dir D]

RUN is the folder of a run, whose config goes on with the steps that --step
gives, in the form of scenario.steps; CONFIG is its config, to which they have
been added. Finished steps keep their scores and weights; they must be as they
were. train.py --resume does the same with a config.
"""
import argparse
import ast
import sys
from pathlib import Path

from mmengine.config import Config

from mmseg_spwc.config.load import add_options, load_config, read_config
from mmseg_spwc.config.step import scenario_of
from mmseg_spwc.errors import ConfigError, input_errors, user_errors
from mmseg_spwc.record import FILE_NAME, Record
from mmseg_spwc.registry import RUNNERS
from mmseg_spwc.runtime.processes import processes


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description='Add steps to a run')
    add_options(parser)
    parser.add_argument(
        '--step', action='append', default=[], type=_literal,
        help='classes of a further step, as in scenario.steps')
    parser.set_defaults(resume=True)
    return parser.parse_args()


def _literal(text: str) -> object:
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError) as error:
        raise argparse.ArgumentTypeError(
            f'{text!r} is no list or dict of Python: write it as "[11, 12]" '
            'or "{\'classes\': [\'pole\'], ...}"') from error


def more_steps(args: argparse.Namespace) -> Config:
    """Return the config of the run with its further steps."""
    if Path(args.config).is_dir():
        args.work_dir = args.work_dir or args.config
        args.config = str(Path(args.config, FILE_NAME))
    if args.step:
        cfg = read_config(args.config, args.trust)
        with input_errors('scenario'):
            steps = cfg.scenario.get('steps') or [
                list(step) for step in scenario_of(cfg).steps]
        args.cfg_options = {**(args.cfg_options or {}), 'scenario.name': None,
                            'scenario.steps': [*steps, *args.step]}
    cfg = load_config(args)
    done = len(Record.read(cfg.work_dir).steps)
    with input_errors('scenario'):
        known = scenario_of(cfg).num_steps
    if known <= done:
        raise ConfigError(
            f'{cfg.work_dir} has finished all {done} steps of the scenario: '
            'add steps to its end, or give them with --step.')
    return cfg


def main() -> int:
    args = parse_args()
    with user_errors():
        cfg = more_steps(args)
        with processes(cfg.launcher):
            RUNNERS.build(cfg).train()
    return 0


if __name__ == '__main__':
    sys.exit(main())
