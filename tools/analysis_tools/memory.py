"""Print how much memory of a GPU a config needs, without a GPU.

    python tools/analysis_tools/memory.py CONFIG [--scenario 15-1]
        [--gpus N] [--amp] [--cfg-options K=V ...]
    python tools/analysis_tools/memory.py --table docs/memory.md

Two iterations of the first and of the last step are run at full size on a
device that computes nothing, and what is live at the peak is printed in GiB by
part: the weights, the previous model (the teacher), the optimiser with what a
method keeps beside it, the batch, the activations, the logits and losses, the
gradients. Leave one to two GiB more for CUDA, cuDNN and fragmentation.

--table writes the last step of every segmentation leaf into a page.
"""
import argparse
import sys
from pathlib import Path

from mmengine.config import Config

from mmseg_spwc.config.load import add_config_options, load_config
from mmseg_spwc.engine.footprint import GIB, footprint, footprint_table
from mmseg_spwc.errors import ConfigError, user_errors

ROOT = Path(__file__).resolve().parents[2]
BEGIN, END = '<!-- table: memory.py --table -->', '<!-- end of the table -->'


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description='Print how much memory of a GPU a config needs')
    if '--table' in sys.argv:
        parser.add_argument('--table', type=Path, metavar='PAGE')
        return parser.parse_args()
    add_config_options(parser)
    parser.add_argument('--gpus', type=int, default=1,
                        help='how many share a batch')
    parser.add_argument('--amp', action='store_true',
                        help='in mixed precision')
    parser.set_defaults(table=None)
    return parser.parse_args()


def main() -> int:
    args = parse_args()
    with user_errors():
        if args.table:
            before, rest = args.table.read_text().split(BEGIN)
            args.table.write_text('\n'.join(
                [before + BEGIN, *rows_of_leaves(), END]) + rest.split(END)[1])
        else:
            cfg = load_config(args)
            print(footprint_table(footprint(cfg, args.gpus)))
    return 0


def rows_of_leaves() -> list[str]:
    """A Markdown table: peaks of the last step by leaf."""
    rows = ['| leaf | float32 | of it weights and teacher |', '|---|---|---|']
    for path in sorted(ROOT.glob('configs/*/*.py')):
        if '512x512' not in path.name and '128x128' not in path.name:
            continue
        try:
            found = peak(path)
            cells = [f'{sum(parts.values()) / GIB:.1f}' for parts in (
                found, {p: found[p] for p in ('weights', 'teacher')})]
        except ConfigError:
            cells = ['not known', '']
        rows.append(f'| `{path.stem}` | {" | ".join(cells)} |')
        print(rows[-1], flush=True)
    return rows


def peak(path: Path) -> dict[str, int]:
    """Bytes of the last step by part, in float32."""
    cfg = Config.fromfile(path)
    cfg.work_dir = 'work_dirs'
    (found, ) = footprint(cfg, steps=(-1, )).values()
    return found


if __name__ == '__main__':
    sys.exit(main())
