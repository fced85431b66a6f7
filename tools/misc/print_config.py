"""Print a config, or exactly what one step of it will run.

    python tools/misc/print_config.py CONFIG [--scenario 15-1]
        [--setting disjoint] [--step N [--world-size N]] [--amp]
        [--cfg-options K=V ...]

Give it the options of tools/train.py. With several processes the config
depends on whether there are GPUs: print it where it will run.
"""
import argparse
import sys

from mmengine.config import Config

from mmseg_spwc.config.keys import check_keys
from mmseg_spwc.config.load import add_options, load_config
from mmseg_spwc.config.step import scenario_of, step_config
from mmseg_spwc.errors import input_errors, user_errors


def main() -> int:
    parser = argparse.ArgumentParser(description='Print a config')
    add_options(parser)
    parser.add_argument(
        '--amp', action='store_true', help='as trained in mixed precision')
    parser.add_argument('--step', type=int, help='the step, from 0')
    parser.add_argument(
        '--world-size', type=int, default=1, help='number of processes')
    args = parser.parse_args()
    with user_errors():
        cfg = load_config(args)
        if args.step is not None:
            check_keys(cfg)
            with input_errors('scenario'):
                cfg = step_config(cfg, scenario_of(cfg), args.step,
                                  args.world_size)
        print(Config(cfg.to_dict()).pretty_text)  # laid out by yapf
    return 0


if __name__ == '__main__':
    sys.exit(main())
