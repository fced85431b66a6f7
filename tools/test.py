"""Score the checkpoint of a step exactly as the sequence did.

    python tools/test.py CONFIG CHECKPOINT [--scenario 15-1]
        [--setting disjoint] [--out scores.json]
"""
import argparse
import json
import sys

from mmseg_spwc.config.load import add_options, load_config
from mmseg_spwc.errors import tool_errors
from mmseg_spwc.registry import RUNNERS
from mmseg_spwc.runtime.processes import processes
from mmseg_spwc.utils.files import write_text


def main() -> int:
    parser = argparse.ArgumentParser(description='Score a step')
    add_options(parser)
    parser.add_argument('checkpoint', help='final.pth of a step')
    parser.add_argument('--out', help='JSON file for the scores')
    args = parser.parse_args()
    with tool_errors():
        cfg = load_config(args)
        with processes(cfg.launcher):
            scores = RUNNERS.build(cfg).test(args.checkpoint)
        text = json.dumps(scores, indent=1)
        print(text)
        if args.out:
            write_text(args.out, text + '\n')
    return 0


if __name__ == '__main__':
    sys.exit(main())
