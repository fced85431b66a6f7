"""The command ``mmseg-spwc``: the tools, wherever the package is installed.

    mmseg-spwc train CONFIG ...
    mmseg-spwc train mmseg_spwc::demo/finetune_shapes-6-1.py
    mmseg-spwc demo

A config of the package is named as in ``_base_``: ``mmseg_spwc::`` and its
path below ``configs/``.
"""
import runpy
import sys
from argparse import ArgumentParser
from pathlib import Path

# as OpenMMLab's packages carry them; links in a checkout, files in a wheel
MIM = Path(__file__).resolve().parent / '.mim'
TOOLS = dict(
    train='train.py',
    extend='extend.py',
    test='test.py',
    sweep='sweep.py',
    paper='paper.py',
    report='report.py',
    demo='run_demo.py',
    compare='analysis_tools/compare.py',
    memory='analysis_tools/memory.py',
    doctor='doctor.py',
    print_config='misc/print_config.py',
    publish='misc/publish_model.py',
    browse='misc/browse.py',
    new='misc/new_config.py',
    predict='predict.py',
    webdemo='webdemo.py')


def add_trust(parser: ArgumentParser) -> None:
    """Add the option of tools that read records, which anyone may write."""
    parser.add_argument(
        '--trust', action='store_true',
        help='let records do what configs may: run code, read any file')


def add_size(parser: ArgumentParser) -> None:
    """Add the option of tools that show images to a network."""
    parser.add_argument(
        '--size', type=int,
        help="side an image is resized to (default: the config's own)")


def main() -> None:
    """Run the tool that the first argument names, with the others."""
    command, *rest = sys.argv[1:] or ['--help']
    if command in ('-h', '--help'):
        print(__doc__)
        print('Commands:', ', '.join(TOOLS))
        return
    if command not in TOOLS:
        sys.exit(f'error: mmseg-spwc has no command {command!r}: choose one '
                 f'of {", ".join(TOOLS)}.')
    script = str(MIM / 'tools' / TOOLS[command])
    sys.argv = [f'mmseg-spwc {command}', *rest]
    runpy.run_path(script, run_name='__main__')


if __name__ == '__main__':
    main()
