"""Checkpoints and records that are wrong."""
import json
import shutil

import torch
from wrong_data import Evil
from wrong_inputs import Row, digits_with, train

from mmseg_spwc.engine import ContinualRunner
from mmseg_spwc.errors import user_errors
from mmseg_spwc.record import Record


def start(write, **options):
    """Start from a file of step 0 that ``write(case, path)`` makes."""

    def make(case):
        path = case.folder / 'start.pth'
        write(case, path)
        train(case.digits(start_from=str(path), **options), begins=True)

    return make


def half(case, path):
    path.write_bytes(case.weights.read_bytes()[:2000])


def good(case, path):
    path.write_bytes(case.weights.read_bytes())


def other_step(case, path):
    path.write_bytes(
        (case.finished / 'step_01' / 'final.pth').read_bytes())


def foreign(case, path):
    torch.save(dict(state_dict={'a': torch.ones(2)}), path)


def evil(case, path):
    torch.save(dict(format='mmseg_spwc.step', stamp=Evil(case.folder)), path)


def without_stamp(case, path):
    torch.save(dict(format='mmseg_spwc.step', stamp=dict(age=3)), path)


def text_as_weights(case):
    path = case.folder / 'start.txt'
    path.write_text('hello')
    train(case.digits(backbone_weights=str(path)), begins=True)


def tested(write, **options):
    """Score a file as ``tools/test.py`` does."""

    def make(case):
        path = case.folder / 'final.pth'
        write(case, path)
        with user_errors():
            ContinualRunner(case.digits(**options)).test(str(path))

    return make


def forget_step_1(run):
    content = json.loads((run / 'record.json').read_text())
    content.update(status='running', steps=content['steps'][:1])
    (run / 'record.json').write_text(json.dumps(content))


def resumed(spoil, **options):
    """Go on with a run whose step 1 is missing, after ``spoil(folder)``."""

    def make(case):
        run = case.copy_of_run()
        forget_step_1(run)
        spoil(case, run)
        train(case.digits(resume=True, **options), begins=True)

    return make


def importances_of_another_network(case):
    """Step 1 is to go on from importances of a narrower network."""
    wide = {'model.backbone.hidden': (20, 24)}
    run, other = case.folder / 'run', case.folder / 'other'
    for cfg in (case.digits('ewc', **wide),
                case.digits('ewc', work_dir=str(other))):
        ContinualRunner(cfg).train()
    for name in ('consolidation', 'step_01'):
        shutil.rmtree(run / name)
    shutil.copytree(other / 'consolidation', run / 'consolidation')
    forget_step_1(run)
    train(case.digits('ewc', **wide, resume=True), begins=True)


def spoil_weights(write):
    return lambda case, run: write(case, run / 'step_00' / 'final.pth')


CHECKPOINTS = [Row(*row) for row in (
    ('start from nothing', start(lambda case, path: None),
     'start_from is .*start.pth, but there is no such file: give'),
    ('start from half a file', start(half),
     'cannot be read as plain tensors: it is damaged, or'),
    ('start from foreign weights', start(foreign),
     'does not name the classes of its channels: say start_from=dict'),
    ('start from a malicious file', start(evil), 'may run code. If you trust'),
    ('start from another version', start(without_stamp),
     'no stamp .*: use the release'),
    ('start from step 1 without its run', start(other_step),
     'nothing beside it tells what was known after step 0 .*: leave it in'),
    ('start from other domains', start(good, **{'randomness.seed': 7}),
     'other domains .seed of step 0 is 42 there, 7 here.*: use the scen'),
    ('start from another network', start(good, **{
        'model.backbone.hidden': (8, 24)}),
     'weights of another network .*size mismatch.*: use the config'),
    ('resume after half a file', resumed(spoil_weights(half)),
     'is broken or holds code. Use'),
    ('resume after a malicious file', resumed(spoil_weights(evil)),
     'holds code. Use'),
    ('resume with another network', resumed(
        lambda case, run: None, **{'model.backbone.hidden': (8, 24)}),
     'another shape for .*another network'),
    ('resume with importances of another network',
     importances_of_another_network, 'backbone.layers.0.*shape'),
    ('test a missing file', tested(lambda case, path: None),
     'no checkpoint at'),
    ('test a malicious file', tested(evil), 'holds code. Use'),
    ('test with another scenario', tested(other_step, **{
        'randomness.seed': 7}), 'another scenario .*: use the config'),
    ('test another network', tested(good, **{
        'model.backbone.hidden': (8, 24)}),
     'weights of another network .*: use the config'),
    ('backbone weights that are a text', text_as_weights,
     'backbone_weights: .*start.txt cannot be read as plain tensors: it is'),
    ('no backbone weights', digits_with(backbone_weights='none.pth'),
     'backbone_weights is none.pth, but there is no such file: give'),
)]


def record(change):
    """Read the record of the finished run after ``change(content)``."""

    def make(case):
        content = json.loads((case.finished / 'record.json').read_text())
        change(content)
        (case.folder / 'record.json').write_text(json.dumps(content))
        Record.read(case.folder)

    return make


def write_record(text):
    return lambda case, run: (run / 'record.json').write_text(text)


RECORDS = [Row(*row) for row in (
    ('no record', lambda case: Record.read(case.folder),
     'no record at .*: a run writes it'),
    ('record of another version', record(lambda c: c.update(version=9)),
     'record version 9.*: use the release'),
    ('not our record', record(lambda c: c.update(schema='other')),
     'is not a record of mmseg_spwc'),
    ('percent instead of fractions', record(
        lambda c: c['steps'][0].update(accuracy_by_step=[93.])),
     r'\$.steps\[0\].accuracy_by_step\[0\]: 93'),
    ('record without its scenario', record(lambda c: c.pop('scenario')),
     "'scenario' is a required"),
    ('folder in the place of a record', lambda case: (
        (case.folder / 'record.json').mkdir(), Record.read(case.folder)),
     'cannot be read.*Check'),
    ('step that a running record does not hold', lambda case: Record.read(
        case.finished).step(5), 'holds no step 5, only'),
    ('resume with a broken record', resumed(write_record('{"half')),
     'not JSON .*; restore it'),
    ('resume with another seed', resumed(
        lambda case, run: None, **{'randomness.seed': 7}),
     'run of another scenario .*: choose another --work-dir'),
    ('resume with another method', resumed(
        lambda case, run: None, **{'method.name': 'Other'}),
     'run of another method .*: choose another --work-dir'),
    ('run in a work_dir that is taken', lambda case: (
        case.copy_of_run(), train(case.digits())),
     'already holds a run. Continue it with --resume'),
)]
