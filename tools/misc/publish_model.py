"""Turn a step's checkpoint into one that mmseg alone can load.

    python tools/misc/publish_model.py STEP/final.pth OUT.pth

The growing classifier becomes one ordinary 1x1 convolution; nothing else of
the network is special. The result has mmseg's form: ``state_dict`` and
``meta.dataset_meta``.
"""
import argparse
import re
import sys
from pathlib import Path


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description='Publish a step')
    parser.add_argument('checkpoint', help='final.pth of a step')
    parser.add_argument('out', help='the file to write')
    return parser.parse_args()


def with_plain_classifier(state: dict) -> dict:
    """Join the convolutions of every growing classifier."""
    import torch
    parts, plain = {}, {}
    for key, value in state.items():
        match = re.fullmatch(r'(.*conv_seg)\.convs\.(\d+)\.(weight|bias)', key)
        if match:
            joined = f'{match[1]}.{match[3]}'
            parts.setdefault(joined, {})[int(match[2])] = value
        else:
            plain[key] = value
    for key, convs in parts.items():
        plain[key] = torch.cat([convs[i] for i in sorted(convs)])
    return plain


def main() -> int:
    args = parse_args()
    import mmseg_spwc  # noqa: F401
    from mmseg_spwc.engine.checkpoint import load_step
    from mmseg_spwc.errors import ConfigError, tool_errors
    from mmseg_spwc.utils.files import write_tensors
    with tool_errors():
        content = load_step(args.checkpoint)
        published = dict(
            meta=content['meta'],
            state_dict=with_plain_classifier(content['state_dict']))
        if Path(args.out).exists() and Path(args.out).samefile(
                args.checkpoint):
            raise ConfigError(f'{args.out} is the step itself, which would be '
                              'lost: give another file to write.')
        write_tensors(args.out, published)
    print(f'{args.out}: {len(published["state_dict"])} tensors')
    return 0


if __name__ == '__main__':
    sys.exit(main())
