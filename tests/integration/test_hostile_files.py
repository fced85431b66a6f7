"""Checkpoints, pictures, sweeps and disks that are not what they should be."""
import copy
import errno
import json
import multiprocessing
import os
import resource
import runpy
import shutil
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from digit_runs import digits, train
from mmengine.config import Config
from PIL import Image
from scripts import ROOT, load

from mmseg_spwc.apis import inference
from mmseg_spwc.engine import ContinualRunner
from mmseg_spwc.errors import (
    CheckpointError,
    ConfigError,
    RecordError,
    StorageError,
    input_errors,
)
from mmseg_spwc.record import Record
from mmseg_spwc.runtime import checkpoint
from mmseg_spwc.runtime.checkpoint import load_step
from mmseg_spwc.runtime.lock import run_lock
from mmseg_spwc.runtime.resume_point import find_resume_point
from mmseg_spwc.sweep.aggregate import read_aggregate

webdemo = load('tools/webdemo.py')


@pytest.fixture(scope='module')
def run(config_in, tmp_path_factory):
    """A run of one's own, of two steps, with its config beside it."""
    folder = tmp_path_factory.mktemp('files')
    cfg = config_in(folder, **{
        'scenario.steps': [[1, 2, 3, 4, 5], [6, 7, 8, 9, 10]],
        'train_cfg.max_epochs': 1,
        'schedule.later.train_cfg.max_epochs': 1,
    })
    ContinualRunner(cfg).train()
    (folder / 'config.py').write_text(cfg.pretty_text)
    return Path(cfg.work_dir)


@pytest.fixture
def tool(monkeypatch, capsys):
    """Call a tool as the command line does, in this process."""

    def call(path, *arguments):
        monkeypatch.setattr(sys, 'argv', [path, *map(str, arguments)])
        try:
            code = runpy.run_path(str(ROOT / path))['main']()
        except SystemExit as stopped:
            code = stopped.code
        return code, capsys.readouterr()

    return call


# --- checkpoints


def weight(content, value):
    key = next(k for k, v in content['state_dict'].items() if v.ndim == 4)
    content['state_dict'][key].view(-1)[3] = value


def names(**changes):
    return lambda c: c['meta']['dataset_meta'].update(changes)


SPOILT = {
    'NaN': (lambda c: weight(c, torch.nan), 'not finite'),
    'infinite': (lambda c: weight(c, torch.inf), 'not finite'),
    'minus infinite': (lambda c: weight(c, -torch.inf), 'not finite'),
    'one class too many': (names(classes=['a'] * 12), '11 channels and'),
    'a class that is no text': (names(classes=[1] * 11), '11 channels and'),
    'short palette': (names(palette=[[0, 0, 0]]), 'a colour of three'),
    'long palette': (names(palette=[[0, 0, 0]] * 300), 'a colour of three'),
    'loud palette': (names(palette=[[0, 0, 999]] * 11), 'a colour of three'),
    'flat palette': (names(palette=[0] * 11), 'no stamp that'),
    'no meta': (lambda c: c.update(meta=3), 'no stamp that'),
    'no weights': (lambda c: c.update(state_dict=[1]), 'no stamp that'),
    'a step too many': (lambda c: c['stamp'].update(step=99), 'of step 99'),
    'a step below 0': (lambda c: c['stamp'].update(step=-1), 'of step -1'),
    'half a step': (lambda c: c['stamp'].update(step=1.5), 'of step 1.5'),
    'facts of text': (lambda c: c['stamp'].update(facts=['x']),
                      'no stamp that'),
    'other channels': (lambda c: c['stamp'].update(channels=[5, 6]),
                       'with [5, 6] channels'),
    'channels of text': (lambda c: c['stamp'].update(channels='x'),
                         'no stamp that'),
}
READERS = {
    'test': lambda r, path: ['tools/test.py', r.parent / 'config.py', path],
    'publish': lambda r, path: ['tools/misc/publish_model.py', path,
                                r.parent / 'published.pth'],
    'demo': lambda r, path: ['tools/demo.py', r.parent / 'config.py', path,
                             r.parent / 'image.png'],
    'start_from': lambda r, path: [
        'tools/train.py', r.parent / 'config.py', '--work-dir',
        path.parent / 'new', '--cfg-options', f'start_from={path}'],
}


@pytest.mark.parametrize(('how', 'reader'), [
    (how, reader) for how in SPOILT for reader in READERS
    # start_from goes by the classes, whatever follows elsewhere
    if (how, reader) != ('a step too many', 'start_from')])
def test_a_spoilt_checkpoint_gets_a_sentence(how, reader, run, tool,
                                             tmp_path):
    spoil, says = SPOILT[how]
    step = 'step_00' if reader == 'start_from' else 'step_01'
    content = torch.load(run / step / 'final.pth', weights_only=True)
    spoil(content)
    shutil.copy(run / 'record.json', tmp_path)
    path = tmp_path / step / 'final.pth'
    path.parent.mkdir()
    torch.save(content, path)
    Image.new('RGB', (48, 48)).save(run.parent / 'image.png')
    code, said = tool(*READERS[reader](run, path))
    assert code == 2 and 'Traceback' not in said.err
    assert (says if step == 'step_01' else 'final.pth') in said.err
    assert not (path.parent / 'new/record.json').exists()


def test_a_mask_of_attention_is_no_damage(run, tmp_path):
    content = torch.load(run / 'step_01/final.pth', weights_only=True)
    content['state_dict']['mask'] = torch.full((4, 4), -torch.inf).triu(1)
    torch.save(content, tmp_path / 'final.pth')
    assert load_step(tmp_path / 'final.pth')['state_dict']['mask'][3, 0] == 0


def test_flipped_bits_are_found_or_harmless(run, tmp_path):
    path = tmp_path / 'final.pth'
    good = (run / 'step_01/final.pth').read_bytes()
    before = load_step(run / 'step_01/final.pth')['state_dict']
    found, rng = 0, np.random.default_rng(0)
    for at in rng.integers(0, 8 * len(good), 60):
        broken = bytearray(good)
        broken[at // 8] ^= 1 << at % 8
        path.write_bytes(broken)
        try:
            after = load_step(path)['state_dict']
        except CheckpointError:
            found += 1
            continue
        assert all(torch.equal(before[key], after[key]) for key in before)
    assert found > 50


def special(path, kind):
    if kind == 'pipe':
        os.mkfifo(path)
    elif kind == 'folder':
        path.mkdir()
    else:
        path.symlink_to('/dev/zero')


@pytest.mark.parametrize('kind', ['pipe', 'device', 'folder'])
def test_what_is_no_file_is_not_read(kind, tmp_path):
    path = tmp_path / 'final.pth'
    special(path, kind)
    with pytest.raises(CheckpointError, match='is no file'):
        load_step(path)


def test_an_old_torch_is_told_once(monkeypatch, run):
    said = []
    monkeypatch.setattr(checkpoint, 'warn', said.append)
    for version, times in (('2.10.0', 0), ('2.13.0+cpu', 0), ('2.9.1+cu1', 1)):
        checkpoint.warn_of_old_torch.cache_clear()
        monkeypatch.setattr(torch, '__version__', version)
        for _ in range(2):
            load_step(run / 'step_00/final.pth')
        assert len(said) == times
    assert 'CVE-2025-32434 before 2.6' in said[0]
    checkpoint.warn_of_old_torch.cache_clear()


def test_publishing_keeps_the_step(run, tool, tmp_path):
    path = Path(shutil.copy(run / 'step_01/final.pth', tmp_path))
    (tmp_path / 'link.pth').symlink_to(path)
    for out in (path, tmp_path / 'link.pth'):
        code, said = tool('tools/misc/publish_model.py', path, out)
        assert code == 2 and 'is the step itself' in said.err
    assert load_step(path)


@pytest.mark.parametrize('words', [
    ('small_steps.py', 'run', '{}/none.pt'),
    ('small_steps.py', 'run', '{}/text.pt'),
    ('rank_classes.py', 'cifar100', '{}'),
    ('rank_classes.py', 'tiny_imagenet', '{}')])
def test_what_a_tool_computes_with_is_not_there(words, tool, tmp_path):
    (tmp_path / 'text.pt').write_text('no tensors')
    name, *rest = (word.format(tmp_path) for word in words)
    code, said = tool(f'tools/analysis_tools/{name}', *rest)
    assert code == 2 and str(tmp_path) in said.err
    assert 'Traceback' not in said.err


# --- records and sweeps


def test_names_do_not_command_the_terminal(run, tool, tmp_path, capsys):
    content = json.loads((run / 'record.json').read_text())
    content['method'] = 'A\x1b]0;owned\x07B\x9b2J'
    content['steps'][-1]['classes'][1] = '\x1b[31mred'
    content['scenario']['name'] = '\x1b[2J'
    (tmp_path / 'record.json').write_text(json.dumps(content))
    for words in (['tools/report.py', tmp_path, '-o', tmp_path / 'r.html'],
                  ['tools/analysis_tools/compare.py', tmp_path]):
        code, said = tool(*words)
        assert code == 0 and r'A\x1b]0;owned\x07B\x9b2J' in said.out
        assert '\x1b' not in said.out + said.err and '\x9b' not in said.out
    content['version'] = '\x1b[2J'
    (tmp_path / 'record.json').write_text(json.dumps(content))
    assert '\x1b' not in tool('tools/report.py', tmp_path)[1].err


def setting(**changes):
    return dict(dict(name='a', method='m', scenario='s', setting={}, seeds=[0],
                     missing=[], best=True, held_out=dict(mean=.5, sd=None),
                     test=dict(mean=None, sd=None)), **changes)


def sweep(**changes):
    return dict(dict(schema='mmseg_spwc.sweep', version=1, name='s',
                     select=None, settings=[setting()],
                     runs=[dict(group='a', finished=True, folder='run')]),
                **changes)


@pytest.mark.parametrize('content', [
    3, 'text', [], sweep(settings=3), sweep(settings=[3]), sweep(runs=None),
    sweep(runs=[3]), sweep(runs=[dict(folder=3, group='a', finished=True)]),
    sweep(runs=[dict(folder='run')]), sweep(runs=[dict(
        folder='a\0b', group='a', finished=True)]),
    sweep(settings=[setting(held_out=3)]),
    sweep(settings=[setting(test=dict(mean='x', sd=None))]),
    sweep(settings=[setting(setting=[1])]), sweep(settings=[{}])])
def test_a_sweep_of_the_wrong_kind(content, tmp_path, tool):
    (tmp_path / 'sweep.json').write_text(json.dumps(content))
    with pytest.raises(RecordError, match='is broken|outside its folder'):
        read_aggregate(tmp_path)
    code, said = tool('tools/report.py', tmp_path)
    assert code == 2 and 'sweep.json' in said.err


@pytest.mark.parametrize('content', [b'\xff\xfe', None])
def test_a_sweep_that_is_no_text(content, tmp_path):
    path = tmp_path / 'sweep.json'
    path.mkdir() if content is None else path.write_bytes(content)
    with pytest.raises(RecordError, match='broken|cannot be read'):
        read_aggregate(path)


@pytest.mark.parametrize('content', [b'\xff\xfe', b'a\0b', None])
def test_a_pointer_to_a_checkpoint_of_the_wrong_kind(content, tmp_path):
    path = tmp_path / 'last_checkpoint'
    path.mkdir() if content is None else path.write_bytes(content)
    (tmp_path / 'epoch_1.pth').mkdir()
    assert find_resume_point(tmp_path) is None


@pytest.mark.parametrize('name', ['record.json', 'sweep.json'])
@pytest.mark.parametrize('kind', ['pipe', 'device', 'folder'])
def test_a_record_that_is_no_file_is_not_read(kind, name, tmp_path, tool):
    path = tmp_path / name
    special(path, kind)
    code, said = tool('tools/report.py', path, '-o', tmp_path / 'r.html')
    assert code == 2 and name in said.err and 'Traceback' not in said.err


def test_what_a_run_finds_in_its_folder_may_be_no_file(tmp_path):
    for name in ('run.lock', 'last_checkpoint'):
        special(tmp_path / name, 'pipe')
    assert find_resume_point(tmp_path) is None
    with run_lock(tmp_path):
        pass


# --- pictures


@pytest.mark.parametrize(('size', 'says'), [
    ((13_000, 13_000), 'has 13000x13000 pixels'),
    ((20_000, 20_000), 'cannot be read as an image'),
    ((60_000, 1), 'has 60000x1 pixels'), ((1, 60_000), 'has 1x60000 pixels'),
    ('empty', 'cannot be read as an image'),
    ('text', 'cannot be read as an image'), ('pipe', 'no image at')])
def test_a_picture_is_refused_before_it_is_decoded(size, says, tmp_path,
                                                   monkeypatch):
    path = tmp_path / 'a.png'
    if size == 'pipe':
        os.mkfifo(path)
    elif isinstance(size, str):
        path.write_text(size if size == 'text' else '')
    else:
        Image.new('1', size).save(path)
        monkeypatch.setattr(inference.mmcv, 'imread', None)
    with pytest.raises(ConfigError, match=says):
        inference.read_image(path)


def test_a_strip_is_refused_before_it_is_enlarged():
    with pytest.raises(ConfigError, match='shorter side resized to 512, has'):
        inference.segment_image(None, np.zeros((1, 9000, 3), np.uint8), 512)


def test_a_large_picture_is_reduced_and_a_gif_is_read(tmp_path):
    Image.new('RGB', (3000, 1500), (9, 99, 200)).save(tmp_path / 'a.png')
    image = inference.read_image(tmp_path / 'a.png', 1024)
    assert image.shape == (512, 1024, 3) and image[0, 0].tolist() == [
        200, 99, 9]
    picture = Image.new('P', (8, 6), 3)
    picture.putpalette([0, 0, 0] * 3 + [9, 99, 200])
    picture.save(tmp_path / 'a.gif')
    image = inference.read_image(tmp_path / 'a.gif')
    assert image.shape == (6, 8, 3) and image[0, 0].tolist() == [200, 99, 9]


def test_a_picture_replaces_neither_an_image_nor_another(run, tool, tmp_path):
    for name in ('a/x.png', 'b/x.png', 'b/x.jpg'):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        Image.new('RGB', (48, 48)).save(tmp_path / name)
    (tmp_path / 'c').symlink_to('a')
    for images, out, says in (
            (['a'], 'a', 'replaced by its picture'),
            (['c/x.png'], 'a', 'replaced by its picture'),
            (['a/x.png', 'b/x.png'], 'new', 'would have one picture'),
            (['b'], 'new', 'would have one picture')):
        code, said = tool('tools/predict.py', run, '-o', tmp_path / out,
                          *(tmp_path / image for image in images))
        assert code == 2 and says in said.err
    assert not (tmp_path / 'new').exists()


class PageError(Exception):
    """Stands for gradio's."""


def test_the_page_reads_what_it_is_given_with_care(tmp_path):
    answer = webdemo.answers(SimpleNamespace(Error=PageError),
                              lambda image, step: (image, step))
    Image.new('RGB', (2000, 10), (9, 99, 200)).save(tmp_path / 'a.png')
    image, step = answer(str(tmp_path / 'a.png'), 3)
    assert image.shape == (5, 1024, 3) and step == 3
    assert image[0, 0].tolist() == [9, 99, 200]
    assert answer(None, 3) == (None, 3)
    (tmp_path / 'a.png').write_text('<svg/>')
    with pytest.raises(PageError, match='cannot be read as an image'):
        answer(str(tmp_path / 'a.png'), 3)


def test_a_busy_port_gets_a_sentence():
    given = {}

    def launch(**options):
        given.update(options)
        raise OSError('Cannot find empty port in range: 7860-7860.')

    with pytest.raises(ConfigError, match='127.0.0.1:7860.*another --port'):
        webdemo.serve(SimpleNamespace(launch=launch), '127.0.0.1', 7860)
    assert given['max_file_size'] == '20mb' and given['share'] is False


# --- disks and clocks


def in_little_room(words):
    resource.setrlimit(resource.RLIMIT_FSIZE, (300, 300))
    sys.argv = [str(word) for word in words]
    sys.exit(runpy.run_path(str(ROOT / words[0]))['main']())


WRITERS = {
    'report': lambda r, o: ['tools/report.py', r, '-o', o],
    'plot': lambda r, o: ['tools/analysis_tools/plot.py', 'qualitative', r,
                          '-o', o],
    'steps': lambda r, o: ['tools/demo_steps.py', r, r.parent / 'image.png',
                           '-o', o],
    'demo': lambda r, o: [*READERS['demo'](r, r / 'step_01/final.pth'), '-o',
                          o],
    'predict': lambda r, o: ['tools/predict.py', r, r.parent / 'image.png',
                             '-o', o.parent],
    'publish': lambda r, o: ['tools/misc/publish_model.py',
                             r / 'step_01/final.pth', o],
}


def check_said(code, said, folder):
    assert code == StorageError.exit_code and 'Traceback' not in said
    assert 'error: Cannot write' in said and 'name another place' in said
    assert '--resume' not in said
    assert not [p for p in os.listdir(folder) if p != 'file']


@pytest.mark.parametrize('writer', WRITERS)
def test_a_tool_on_a_full_disk(writer, run, tmp_path, capfd):
    Image.new('RGB', (48, 48)).save(run.parent / 'image.png')
    process = multiprocessing.get_context('fork').Process(
        target=in_little_room, args=(WRITERS[writer](run, tmp_path / 'out'), ))
    process.start()
    process.join(120)
    check_said(process.exitcode, capfd.readouterr().err, tmp_path)


@pytest.mark.parametrize('writer', WRITERS)
def test_a_tool_that_may_not_write(writer, run, tool, tmp_path):
    Image.new('RGB', (48, 48)).save(run.parent / 'image.png')
    (tmp_path / 'file').touch()
    code, said = tool(*WRITERS[writer](run, tmp_path / 'file/out'))
    check_said(code, said.err, tmp_path)


def test_a_full_disk_is_not_called_config():
    with pytest.raises(OSError, match='full') as error, input_errors('config'):
        raise OSError(errno.ENOSPC, 'full', 'x')
    assert not isinstance(error.value, ConfigError)
    assert 'Cannot write x: full. Make room and go on' in str(
        StorageError.of(error.value))


def test_a_clock_that_is_set_back_changes_nothing(tmp_path, monkeypatch):
    real, calls = time.time, []

    def back():
        calls.append(0)
        return real() - 3600 * (len(calls) > 50)

    monkeypatch.setattr(time, 'time', back)
    cfg = digits(tmp_path / 'run', **{'scenario.name': '2',
                                      'train_cfg.max_epochs': 1})
    record = train(cfg)
    assert all(0 < s['cost']['wall_time'] < 600 for s in record.steps)
    assert Record.read(tmp_path / 'run').steps == record.steps


def test_a_folder_that_is_no_text_is_refused(tmp_path):
    cfg = digits(tmp_path / 'run\udcff', **{'scenario.name': '2'})
    with pytest.raises(ConfigError, match='is not UTF-8.*another --work-dir'):
        train(cfg)


def test_a_run_goes_on_without_a_cache(run, tmp_path):
    cfg = copy.deepcopy(Config.fromfile(run.parent / 'config.py'))
    (tmp_path / 'cache').write_text('no folder')
    cfg.merge_from_dict(dict(work_dir=str(tmp_path / 'run'),
                             cache_dir=str(tmp_path / 'cache')))
    assert len(ContinualRunner(cfg).train().steps) == 2
