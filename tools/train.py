"""Train every step of a continual-learning scenario.

    python tools/train.py CONFIG [--scenario 15-1] [--setting disjoint]
        [--work-dir D] [--resume] [--amp] [--verbose] [--check]
        [--launcher none|pytorch|slurm|mpi] [--cfg-options K=V ...]

The config says everything; see docs/configs.md for the keys
beside MMEngine's own. --scenario and --setting are short for the options
scenario.name and scenario.setting. The record of the run is
work_dir/record.json.
"""
import argparse
import sys

from mmseg_spwc.config.load import add_options, load_config
from mmseg_spwc.errors import user_errors
from mmseg_spwc.registry import RUNNERS
from mmseg_spwc.runtime.processes import processes


def main() -> int:
    parser = argparse.ArgumentParser(
        description='Train every step of a scenario')
    add_options(parser)
    parser.add_argument(
        '--resume', action='store_true', help='continue the run in work_dir')
    parser.add_argument(
        '--amp', action='store_true', help='train in mixed precision')
    parser.add_argument(
        '--check', action='store_true',
        help='look for mistakes, show the plan and train nothing')
    parser.add_argument(
        '--verbose', action='store_true',
        help="show MMEngine's own lines, which go to the log files anyway")
    args = parser.parse_args()
    with user_errors():
        cfg = load_config(args)
        with processes(cfg.launcher):
            if args.check:
                from mmseg_spwc.apis.check import check_run
                print(check_run(cfg))
            else:
                RUNNERS.build(cfg).train()
    return 0


if __name__ == '__main__':
    sys.exit(main())
