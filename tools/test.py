"""Score the checkpoint of a step exactly as the sequence did.

    python tools/test.py CONFIG CHECKPOINT [--out scores.json]
"""
import argparse
import json
import os
import sys

import mmseg_spwc  # noqa: F401  (checks the stack before it is used)

# isort: split
from mmengine.config import DictAction


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description='Score a step')
    parser.add_argument('config', help='config of the sequence')
    parser.add_argument('checkpoint', help='final.pth of a step')
    parser.add_argument('--work-dir', help='folder for logs')
    parser.add_argument('--out', help='JSON file for the scores')
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
    from mmseg_spwc.utils.files import write_text
    with user_errors():
        cfg = load_config(args)
        start_processes(cfg.launcher)
        scores = RUNNERS.build(cfg).test(args.checkpoint)
    text = json.dumps(scores, indent=1)
    print(text)
    if args.out:
        write_text(args.out, text + '\n')
    return 0


if __name__ == '__main__':
    sys.exit(main())
