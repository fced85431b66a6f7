"""Turn a step into a model that plain mmseg or MMPretrain loads.

    python tools/misc/publish_model.py work_dirs/RUN
    python tools/misc/publish_model.py work_dirs/RUN/step_01/final.pth OUT.pth
    mmseg-spwc publish work_dirs/RUN --step 1 --order dataset --onnx

Writes the weights and a config beside them, OUT.py, for
``mmseg.apis.init_model`` or ``mmpretrain.get_model``. A classifier with a
head for each task becomes a model for each.
"""
import argparse
import sys

from mmseg_spwc.cli import add_trust


def main() -> int:
    parser = argparse.ArgumentParser(description='Publish a step')
    parser.add_argument('source', help='folder of a run, or a final.pth')
    parser.add_argument(
        'out', nargs='?', help='file of the weights (default: '
        'RUN/published/step_NN.pth)')
    parser.add_argument(
        '--step', type=int, help='the step of a folder (default: the last)')
    parser.add_argument(
        '--order', default='learning', choices=['learning', 'dataset'],
        help='order of the channels')
    parser.add_argument(
        '--torchscript', action='store_true', help='write OUT.pt, too')
    parser.add_argument(
        '--onnx', action='store_true', help='write OUT.onnx, too')
    parser.add_argument(
        '--size', type=int, nargs=2, metavar=('HEIGHT', 'WIDTH'),
        help='size of the images of an export (default: as trained)')
    parser.add_argument(
        '--force', action='store_true', help='even if it was not accepted')
    add_trust(parser)
    args = parser.parse_args()
    from mmseg_spwc.apis.publish import own_parts, publish
    from mmseg_spwc.errors import tool_errors
    from mmseg_spwc.terminal import shown
    with tool_errors(), shown(verbose=False):
        exports = [k for k in ('torchscript', 'onnx') if getattr(args, k)]
        files = publish(args.source, args.out, args.step, args.order,
                        exports, args.size, args.force, args.trust)
    print(*files, sep='\n')
    from mmengine.config import Config
    config = next(f for f in files if f.suffix == '.py')
    own = own_parts(Config.fromfile(config).to_dict())
    print(f'Channels are in {args.order} order; meta.dataset_meta has their '
          'names and colours.')
    if own:
        print(f'The config needs mmseg_spwc, for {", ".join(sorted(set(own)))}'
              '; --torchscript and --onnx write models that do not.')
    return 0


if __name__ == '__main__':
    sys.exit(main())
