"""Records from somebody else: every tool, and a trap in every place."""
import contextlib
import json
import pickle
import runpy
import shutil
import sys
from pathlib import Path

import pytest
import torch
from mmengine.config import Config
from mmengine.registry import init_default_scope
from PIL import Image
from scripts import ROOT, load

from mmseg_spwc.apis import galleries, publish, step_model
from mmseg_spwc.engine import ContinualRunner
from mmseg_spwc.errors import CheckpointError, ConfigError, RecordError
from mmseg_spwc.record import Record, config_text
from mmseg_spwc.registry import MODELS, TRANSFORMS
from mmseg_spwc.sweep.aggregate import expand_sweeps
from mmseg_spwc.visualization.runs import load_runs

webdemo = load('tools/webdemo.py')
REFUSED = (CheckpointError, ConfigError, RecordError)


class Trap:
    """Makes a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path, )


@pytest.fixture(scope='module')
def own(config_in, tmp_path_factory):
    """A run of one's own, of two steps."""
    folder = tmp_path_factory.mktemp('hostile')
    cfg = config_in(folder, **{
        'scenario.steps': [[1, 2, 3, 4, 5], [6, 7, 8, 9, 10]],
        'train_cfg.max_epochs': 1,
        'schedule.later.train_cfg.max_epochs': 1,
    })
    ContinualRunner(cfg).train()
    return Path(cfg.work_dir)


class Stranger:
    """A folder that somebody sent, and the place that a trap would mark."""

    def __init__(self, folder, own):
        self.sprung = folder / 'sprung'
        self.elsewhere = folder / 'elsewhere'  # not the run's
        self.elsewhere.mkdir()
        self.folder = Path(shutil.copytree(own, folder / 'theirs' / 'run'))
        self.pickle = self.folder / 'trap.pkl'
        self.pickle.write_bytes(pickle.dumps(Trap(self.sprung)))
        self.weights = self.folder / 'trap.pth'
        torch.save(Trap(self.sprung), self.weights)
        package = folder / 'trap_package'
        package.mkdir()
        for name in ('__init__', 'registry'):
            (package / f'{name}.py').write_text(
                f'import pathlib\npathlib.Path({str(self.sprung)!r}).touch()'
                '\nclass Part: pass\n')
        self.image = folder / 'image.png'
        Image.new('RGB', (48, 48)).save(self.image)
        self.change_record(lambda c: c['run'].pop('seal'))

    def change_record(self, change):
        path = self.folder / 'record.json'
        content = json.loads(path.read_text())
        change(content)
        path.write_text(json.dumps(content))

    def change_config(self, **options):
        def change(content):
            values = Record(content).config
            for key, value in options.items():
                *outer, last = key.split('.')
                inner = values
                for word in outer:
                    inner = inner.setdefault(word, {})
                inner[last] = value
            content['run']['config'] = config_text(values)

        self.change_record(change)

    def command(self):
        return dict(type='subprocess.check_output',
                    args=f'touch {self.sprung}', shell=True)


@pytest.fixture
def stranger(tmp_path, own, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    yield Stranger(tmp_path, own)
    for name in ('trap_package', 'trap_package.registry'):
        sys.modules.pop(name, None)


def run_tool(path, *words):
    """Run a tool as the command line does, in this process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, 'argv', [path, *map(str, words)])
        try:
            return runpy.run_path(str(ROOT / path))['main']()
        except SystemExit as stopped:
            return stopped.code


def tool(path):

    def call(stranger, *more):
        out = stranger.folder.parent / 'out'
        return run_tool(path, *TOOLS[path](stranger), '-o', out, *more)

    call.__name__ = path
    return call


TOOLS = {
    'tools/report.py': lambda s: [s.folder, '--images', 1],
    'tools/demo_steps.py': lambda s: [s.folder, s.image],
    'tools/predict.py': lambda s: [s.folder, s.image],
    'tools/analysis_tools/plot.py': lambda s: ['qualitative', s.folder],
    'tools/analysis_tools/grad_cam.py': lambda s: [s.folder],
}


def page(stranger, *more):
    """What tools/webdemo.py does before it opens a port."""
    (run, ), _ = load_runs([stranger.folder], bool(more))
    try:
        trials = webdemo.StepTrials(run)
        for step in trials.steps:
            trials.load(step)
    except REFUSED:
        return 2


def sweep(stranger, *more):
    """A sweep.json that names the run."""
    folder = stranger.folder.parent
    (folder / 'sweep.json').write_text(json.dumps(dict(
        schema='mmseg_spwc.sweep', version=1, name='s', select=None,
        settings=[dict(name='a', method='m', scenario='s', setting={},
                       seeds=[0], missing=[], best=True, held_out=dict(
                           mean=None, sd=None), test=dict(
                               mean=None, sd=None))],
        runs=[dict(group='a', finished=True, folder='run')])))
    folders, _ = expand_sweeps([folder])
    runs, _ = load_runs(folders)
    from mmseg_spwc.visualization.runs import compare
    assert galleries.make_gallery(compare(runs)[0], 1).missing


def published(stranger, *more):
    """What it writes is Python, which others run."""
    try:
        files = publish.publish(stranger.folder)
    except REFUSED:
        return 2
    for path in (path for path in files if path.suffix == '.py'):
        cfg = Config.fromfile(path)
        init_default_scope(cfg.default_scope)
        MODELS.build(cfg.model).init_weights()
        for part in cfg.test_dataloader.dataset.pipeline:
            TRANSFORMS.build(part)
    return None


READERS = [*map(tool, TOOLS), page, sweep, published]


def as_config(path, *more):
    """A tool that takes a config, given a record in its place."""

    def call(stranger, *trust):
        record = stranger.folder / 'record.json'
        return run_tool(path, record, *[
            str(word).format(s=stranger) for word in more], *trust)

    call.__name__ = path
    return call


STEP = '{s.folder}/step_01/final.pth'
CONFIG_READERS = [
    as_config('tools/train.py', '--work-dir', '{s.folder}/new'),
    as_config('tools/test.py', STEP, '--work-dir', '{s.folder}/new'),
    as_config('tools/demo.py', STEP, '{s.image}', '-o', '{s.folder}/o.png'),
    as_config('tools/misc/print_config.py'),
    as_config('tools/misc/print_config.py', '--step', '1'),
]


COMMAND = Stranger.command
# keys of the config, and what makes their values
PAYLOADS = [
    ('model.backbone', COMMAND),
    ('model.decode_head', COMMAND),
    ('model.backbone.norm_cfg', COMMAND),
    ('model.auxiliary_head', COMMAND),
    ('model.decode_head.loss_decode', COMMAND),
    ('model.data_preprocessor', COMMAND),
    ('model.neck', COMMAND),
    ('model.losses', lambda s: dict(ce=s.command())),
    ('method.every', lambda s: dict(model=dict(backbone=s.command()))),
    ('method.later', lambda s: dict(hooks=dict(x=s.command()))),
    ('test_dataloader.dataset.pipeline', lambda s: [s.command()]),
    ('test_dataloader.dataset.pipeline', lambda s: [dict(
        type='Resize', scale=(8, 8)), dict(type='trap_package.Part')]),
    ('model.test_cfg', lambda s: {
        'mode': 'whole', f"x': open({str(s.sprung)!r}, 'w'), 'y": 1}),
    ('model.test_cfg', lambda s: dict(
        mode='whole', x='{{_base_.a}}')),
    ('model.decode_head.loss_decode', lambda s: dict(
        type='CrossEntropyLoss', init_cfg=dict(
            type='Pretrained', checkpoint=str(s.weights)))),
    ('test_dataloader.dataset', COMMAND),
    ('train_dataloader.dataset', COMMAND),
    ('train_dataloader.sampler', COMMAND),
    ('test_dataloader.collate_fn', COMMAND),
    ('test_evaluator', lambda s: [s.command()]),
    ('custom_hooks', lambda s: [s.command()]),
    ('visualizer', COMMAND),
    ('optim_wrapper', COMMAND),
    ('optim_wrapper.constructor', lambda s: 'trap_package.Part'),
    ('runner_type', lambda s: 'trap_package.Part'),
    ('default_scope', lambda s: 'trap_package'),
    ('model.backbone._scope_', lambda s: 'trap_package'),
    ('model.backbone.type', lambda s: 'trap_package.Part'),
    ('model.type', lambda s: 'trap_package.EncoderDecoder'),
    ('model.decode_head.type', lambda s: 'trap_package'),
    ('model.backbone.norm_cfg.type', lambda s: 'trap_package.Part'),
    ('custom_imports', lambda s: dict(
        imports=['trap_package'], allow_failed_imports=False)),
    ('model.backbone.init_cfg', lambda s: dict(
        type='Pretrained', checkpoint=str(s.weights))),
    ('model.pretrained', lambda s: str(s.weights)),
    ('model.backbone.pretrained', lambda s: str(s.weights)),
    ('model.decode_head.loss_decode', lambda s: dict(
        type='CrossEntropyLoss', class_weight=str(s.pickle))),
    ('backbone_weights', lambda s: str(s.weights)),
    ('start_from', lambda s: str(s.weights)),
    ('load_from', lambda s: str(s.weights)),
    ('data_root', lambda s: str(s.elsewhere)),
    ('cache_dir', lambda s: str(s.elsewhere)),
    ('work_dir', lambda s: str(s.elsewhere)),
    ('test_dataloader.dataset.data_root', lambda s: str(s.elsewhere)),
]


@pytest.mark.parametrize('reader', READERS, ids=lambda r: r.__name__)
@pytest.mark.parametrize(
    ('key', 'make'), PAYLOADS,
    ids=lambda p: p if isinstance(p, str) else p.__name__)
def test_a_record_runs_and_makes_nothing(key, make, reader, stranger):
    stranger.change_config(**{key: make(stranger)})
    if 'data_root' in key:
        stranger.change_config(**{
            'test_dataloader.dataset.generate': dict(
                num_train=4, num_val=2)})
    assert reader(stranger) in (0, 2, None)
    assert not stranger.sprung.exists()
    assert not list(stranger.elsewhere.iterdir())


@pytest.mark.parametrize('name', [
    "x\nopen({!r}, 'w')", "{{{{$Q:x|\nopen({!r},'w')#}}}}"])
def test_names_are_no_part_of_what_is_published(name, stranger):
    """MMEngine puts line breaks where a comment has their letters."""
    name = name.format(str(stranger.sprung))
    stranger.change_record(lambda c: c['run'].update(name=name))
    published(stranger)
    assert not stranger.sprung.exists()


@pytest.mark.parametrize('reader', CONFIG_READERS, ids=lambda r: r.__name__)
@pytest.mark.parametrize(('key', 'make'), [
    ('custom_imports', lambda s: dict(
        imports=['trap_package'], allow_failed_imports=False)),
    ('runner_type', lambda s: 'trap_package.Part'),
    ('model.backbone', COMMAND),
], ids=lambda p: p if isinstance(p, str) else '')
def test_a_record_is_no_config_of_ones_own(key, make, reader, stranger,
                                           capsys):
    stranger.change_config(**{key: make(stranger)})
    assert reader(stranger) == 2
    said = capsys.readouterr().err
    assert 'is not of a run of yours' in said and 'add --trust' in said
    assert not stranger.sprung.exists()
    assert not (stranger.folder / 'new').exists()
    if key == 'custom_imports':
        reader(stranger, '--trust')
        assert stranger.sprung.exists()


def test_ones_own_record_is_a_config(own, capsys):
    assert run_tool('tools/misc/print_config.py', own / 'record.json') == 0


class Importing(torch.nn.Module):
    """Stands for parts that import what lies beside their weights."""

    def __init__(self, path):
        super().__init__()
        runpy.run_path(path)


def test_a_registered_part_runs_nothing_that_a_config_names(
        stranger, capsys, tmp_path):
    MODELS.register_module(module=Importing, force=True)
    program = tmp_path / 'trap_package/__init__.py'
    stranger.change_config(**{'model.neck': dict(
        type='mmseg_spwc.Importing', path=str(program))})
    sys.path.remove(str(tmp_path))
    try:
        assert tool('tools/demo_steps.py')(stranger) == 2
    finally:
        MODELS.module_dict.pop('Importing')
    assert f'asks for the program {program}' in capsys.readouterr().err
    assert not stranger.sprung.exists()


def test_what_is_refused_is_said(stranger, capsys):
    stranger.change_config(**{'model.backbone': stranger.command()})
    assert tool('tools/demo_steps.py')(stranger) == 2
    said = capsys.readouterr().err
    assert "asks for 'subprocess.check_output', which is no reg" in said
    assert 'add --trust' in said


def test_with_trust_it_runs(stranger):
    stranger.change_config(**{'model.backbone': stranger.command()})
    with contextlib.suppress(Exception):  # bytes are no network
        tool('tools/demo_steps.py')(stranger, '--trust')
    assert stranger.sprung.exists()


def test_an_honest_stranger_is_shown(stranger):
    """Without the data, which only --trust reads."""
    assert tool('tools/demo_steps.py')(stranger) == 0
    assert page(stranger) is None
    (run, ), _ = load_runs([stranger.folder])
    with pytest.raises(ConfigError, match='no data are read.*--trust'):
        step_model.load_run(run)
    (run, ), _ = load_runs([stranger.folder], trust=True)
    assert len(step_model.load_run(run)[1]) == 24


def test_ones_own_run_is_trusted_until_it_is_changed(own, tmp_path):
    (run, ), _ = load_runs([own])
    assert step_model.is_trusted(run)
    theirs = Stranger(tmp_path, own)
    shutil.copy(own / 'record.json', theirs.folder)
    (run, ), _ = load_runs([theirs.folder])
    assert step_model.is_trusted(run)
    theirs.change_config(cache_dir='x')
    (run, ), _ = load_runs([theirs.folder])
    assert not step_model.is_trusted(run)


def test_a_key_that_others_read_is_none(own, tmp_path, monkeypatch):
    (run, ), _ = load_runs([own])
    (tmp_path / 'key').write_bytes(bytes(32))
    (tmp_path / 'key').chmod(0o644)
    monkeypatch.setenv('MMSEG_SPWC_CACHE', str(tmp_path))
    assert not step_model.is_trusted(run)


@pytest.mark.parametrize('name', [
    '../../x', '/dev/zero', 'a\0b', 'link/final.pth'])
@pytest.mark.parametrize('reader', READERS, ids=lambda r: r.__name__)
def test_a_checkpoint_elsewhere_is_not_read(name, reader, stranger, own,
                                            monkeypatch):
    """Not even of one's own run, whose steps may have been changed."""
    shutil.copy(own / 'record.json', stranger.folder)
    (stranger.folder / 'link').symlink_to(own / 'step_01')

    def change(content):
        for entry in content['steps']:
            entry['checkpoint'] = name

    stranger.change_record(change)
    monkeypatch.setattr(torch, 'load', lambda *_, **__: pytest.fail('read'))
    assert reader(stranger) in (0, 2, None)


@pytest.mark.parametrize(('step', 'given'), [
    (0, 'step_01/final.pth'), (1, '')])
def test_a_start_stays_in_its_run(step, given, stranger, config_in, tmp_path):
    name = f'step_{step:02d}/final.pth'
    shutil.copy(stranger.folder / name, stranger.elsewhere)

    def change(content):
        content['steps'][step]['checkpoint'] = '../../elsewhere/final.pth'

    stranger.change_record(change)
    cfg = config_in(tmp_path / 'new', **{
        'scenario.steps': [[1, 2, 3, 4, 5], [6, 7, 8, 9, 10]],
        'start_from': str(stranger.folder / given)})
    with pytest.raises(RecordError, match='outside its folder'):
        ContinualRunner(cfg).train()


def test_a_sweep_names_runs_of_its_folder_only(stranger):
    sweep(stranger)
    path = stranger.folder.parent / 'sweep.json'
    path.write_text(path.read_text().replace('"run"', '"../elsewhere"'))
    with pytest.raises(RecordError, match='outside its folder.*--trust'):
        expand_sweeps([path])
    assert expand_sweeps([path], trust=True)


@pytest.mark.parametrize('text', [
    'model = ' + 5000 * '(' + 5000 * ')', 'model = f()', 'x = =', '', 'x = 1',
    'model = ' + '[' * 90 + ']' * 90, 'scenario = 3\nmodel = dict()'])
@pytest.mark.parametrize('reader', READERS, ids=lambda r: r.__name__)
def test_a_config_that_is_none_gets_a_sentence(text, reader, stranger):
    stranger.change_record(lambda c: c['run'].update(config=text))
    assert reader(stranger) in (0, 2, None)
