"""Train every step of a continual-learning scenario.

    python tools/train.py CONFIG [--work-dir D] [--resume] [--amp]
        [--launcher none|pytorch|slurm|mpi] [--cfg-options K=V ...]

The config says everything; see mmseg_spwc/engine/config_keys.py for the keys
beside MMEngine's own. The record of the run is work_dir/record.json.
"""
import argparse
import os
import sys

import mmseg_spwc  # noqa: F401  (checks the stack before it is used)

# isort: split
from mmengine.config import DictAction


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description='Train every step of a scenario')
    parser.add_argument('config', help='config file')
    parser.add_argument('--work-dir', help='folder for logs, weights, record')
    parser.add_argument(
        '--resume', action='store_true', help='continue the run in work_dir')
    parser.add_argument(
        '--amp', action='store_true', help='train in mixed precision')
    parser.add_argument(
        '--launcher',
        choices=['none', 'pytorch', 'slurm', 'mpi'],
        default='none',
        help='job launcher')
    parser.add_argument(
        '--cfg-options',
        nargs='+',
        action=DictAction,
        help='overrides of the config, as key=value')
    parser.add_argument('--local_rank', '--local-rank', type=int, default=0)
    args = parser.parse_args()
    os.environ.setdefault('LOCAL_RANK', str(args.local_rank))
    return args


def main() -> int:
    args = parse_args()
    from mmseg_spwc.engine.errors import user_errors
    from mmseg_spwc.engine.launch import load_config, start_processes
    from mmseg_spwc.registry import RUNNERS
    with user_errors():
        cfg = load_config(args)
        start_processes(cfg.launcher)
        RUNNERS.build(cfg).train()
    return 0


if __name__ == '__main__':
    sys.exit(main())
