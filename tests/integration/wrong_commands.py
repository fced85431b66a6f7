"""Command lines and environments that are wrong."""
import importlib
import importlib.metadata
import sys

from digit_runs import LEAVES, ROOT
from scripts import load
from wrong_inputs import DEMO, Row

from mmseg_spwc import compat

DIGITS = LEAVES['finetune']
VOC = ROOT / 'configs/mib/mib_deeplabv3-r101-d16_voc12aug-512x512.py'


def tool(name, *arguments):
    """Run a tool in this process; ``{}`` stands for the row's folder."""

    def make(case):
        module = load(f'tools/{name}.py')
        argv = [name, *(str(a).format(case.folder, run=case.finished)
                        for a in arguments)]
        case.patch.setattr(sys, 'argv', argv)
        case.patch.chdir(case.folder)
        module.main()

    return make


def train_file(text):
    """Train the config of that text."""

    def make(case):
        for name in ('a', 'b'):
            (case.folder / f'{name}.py').write_text('model = dict(x=1)\n')
        (case.folder / 'config.py').write_text(text)
        tool('train', 'config.py')(case)

    return make


COMMANDS = [Row(*row) for row in (
    ('no config', tool('train'), 'required: config'),
    ('config that is not there', tool('train', 'none.py'),
     'no config at none.py'),
    ('config of a scenario', tool(
        'train', str(VOC).replace('512x512', '15-1-ov-512x512')),
     f'Near it are {VOC}'),
    ('scenario that there is not', tool('train', VOC, '--scenario', '15-11'),
     'Known: offline, 19-1'),
    ('setting that there is not', tool(
        'test', VOC, 'x.pth', '--setting', 'disjont'),
     "Did you mean 'disjoint'"),
    ('no epochs in a scenario', tool(
        'train', DEMO, '--scenario', '5-1', '--cfg-options',
        'schedule.later.optim_wrapper.optimizer.lr=0.1',
        'train_cfg.max_epochs=0'), 'max_epochs is 0'),
    ('option of a scenario that there is not', tool(
        'train', DEMO, '--cfg-options', 'scenario.name=7-4'), '7-4'),
    ('typo in an option', tool(
        'train', DEMO, '--cfg-options', 'methd.name=x'), "'method'"),
    ('syntax error', train_file('model = dict(\n'),
     r'config.py cannot be read .*: correct it'),
    ('two bases with one key', train_file("_base_ = ['a.py', 'b.py']\n"),
     'Duplicate key is not allowed among bases.*: correct'),
    ('missing base', train_file("_base_ = ['none.py']\n"),
     'none.py.*: correct it or the _base_ file'),
    ('config that fails', train_file('model = dict(x=1 / 0)\n'),
     'ZeroDivisionError: .*: correct it'),
    ('config of no sequence', train_file('model = dict(x=1)\n'),
     'is not a config of a sequence: let it inherit'),
    ('unknown launcher', tool('train', DEMO, '--launcher', 'sge'),
     "invalid choice: 'sge' .choose from"),
    ('launcher without a GPU', tool('train', DEMO, '--launcher', 'mpi'),
     'only the launchers pytorch and slurm work: use torchrun'),
    ('launcher without torchrun', tool(
        'train', DIGITS, '--launcher', 'pytorch'),
     'pytorch works under torchrun: use tools/dist_train.sh'),
    ('work_dir that is a file', tool(
        'train', DIGITS, '--work-dir', '{run}/record.json'),
     'record.json cannot be the folder of a run .*: choose another'),
    ('work_dir inside a file', tool(
        'train', DIGITS, '--work-dir', '{run}/record.json/run'),
     'json/run cannot be the folder of a run .*: choose another'),
    ('sweep that is trained', tool(
        'train', ROOT / 'configs/sweeps/digits.py'),
     'digits.py is a sweep: run tools/sweep.py'),
    ('option without a value', tool(
        'train', DEMO, '--cfg-options', 'total_batch_size'),
     "takes key=value pairs, not 'total_batch_size': write"),
    ('option inside a number', tool(
        'train', DEMO, '--cfg-options', 'total_batch_size.x=3'),
     'error: --cfg-options: '),
    ('unknown option', tool('train', DEMO, '--amp2'),
     'unrecognized arguments: --amp2'),
    ('work_dir that holds another run', tool(
        'train', DIGITS, '--work-dir', '{run}'),
     'already holds a run. Continue it with --resume, or choose'),
    ('score with another scenario', tool(
        'test', DIGITS, '{run}/step_01/final.pth', '--cfg-options',
        'randomness.seed=7'), 'another scenario .*: use the config'),
    ('score a checkpoint that is not there', tool('test', DEMO, 'none.pth'),
     'no checkpoint at none.pth'),
    ('score without a checkpoint', tool('test', DEMO), 'required: checkpoint'),
    ('step that there is not', tool(
        'misc/print_config', DEMO, '--step', '9'), 'step'),
    ('report of nothing', tool('report', '{}'), 'no record'),
    ('demo with another scenario', tool(
        'demo', DEMO, '{run}/step_01/final.pth', 'none.png'),
     'another scenario .*: use the config'),
)]


def versions(**faked):
    """Check the stack as if other versions were installed."""

    def make(case):
        real = importlib.metadata.version

        def version(name):
            if faked.get(name, '') is None:
                raise importlib.metadata.PackageNotFoundError(name)
            return faked.get(name) or real(name)

        case.patch.setattr(compat.importlib.metadata, 'version', version)
        compat.check_stack()

    return make


def without_mmpretrain(case):
    case.patch.setitem(sys.modules, 'mmpretrain', None)
    case.patch.delitem(sys.modules, 'mmseg_spwc.classification',
                       raising=False)
    importlib.import_module('mmseg_spwc.classification')


def old_python(case):
    case.patch.setattr(sys, 'version_info', (3, 8, 10, 'final', 0))
    compat.check_stack()


ENVIRONMENTS = [Row(*row) for row in (
    ('no mmsegmentation', versions(**dict.fromkeys(compat.REQUIRED['mmseg'])),
     "not installed: run `pip install 'mmsegmentation>="),
    ('no mmcv', versions(**dict.fromkeys(compat.REQUIRED['mmcv'])),
     'needs the package mmcv.*: run `pip install'),
    ('mmcv of another version',
     versions(**{'mmcv': '2.2.0', 'mmcv-lite': None}),
     '2.2.0 is installed: run `pip install'),
    ('old mmengine', versions(mmengine='0.7.0'),
     'from 0.10.0 .*0.7.0 is installed: run'),
    ('old torch', versions(torch='1.13.1'), '1.13.1 is installed: run'),
    ('no mmpretrain', without_mmpretrain,
     'needs the package mmpretrain.*: run `pip install'),
    ('old Python', old_python, 'Python 3.10.*3.8.*: '),
)]
