"""What a run leaves behind, and how it is read."""
import copy
import csv
import io
import json
import math

import pytest

from mmseg_spwc import record as record_module
from mmseg_spwc.errors import RecordError
from mmseg_spwc.problems import Segmentation
from mmseg_spwc.record import Record, _task_table, config_text


def entry(step, iou, base=2):
    means = dict(base=sum(iou[:base]) / base, base_no_bg=iou[1],
                 new=None if len(iou) == base else iou[base],
                 all=sum(iou) / len(iou), all_no_bg=iou[1])
    return dict(
        step=step, classes=['background', 'a', 'b', 'c'][:len(iou)],
        class_ids=list(range(len(iou))), iou=iou, miou=means,
        pixel_accuracy=0.5, mean_accuracy=0.4,
        kpi={'split': 'heldout', 'class': iou, 'step': [0.5]},
        images=dict(train=5), parameters=10, checkpoint='step_00/final.pth',
        cost=dict(wall_time=1.5, peak_memory=3))


@pytest.fixture
def record():
    run = dict(name='x', config='a = 1\n', config_hash='0', seed=1,
               command='train', packages={}, commit=None, world_size=1)
    record = Record.new('segmentation', run, dict(hash='h'), 'Finetune')
    for e in (entry(0, [0.9, 0.7]), entry(1, [0.8, 0.2, 0.5])):
        record.add_step(e, Segmentation().summary([*record.steps, e]))
    return record


def test_round_trip(record, tmp_path):
    record.write(tmp_path)
    again = Record.read(tmp_path)
    assert again.content == record.content
    assert again.finished_steps == [0, 1]
    assert again.step(1)['iou'] == [0.8, 0.2, 0.5]


def test_average_is_the_mean_over_steps(record):
    assert math.isclose(record.content['summary']['average_miou'],
                        (0.8 + 0.5) / 2)
    assert math.isclose(record.content['summary']['all'], 0.5)


def test_csv_has_a_row_a_step_and_a_column_a_class(record, tmp_path):
    record.write(tmp_path)
    rows = list(csv.DictReader(
        io.StringIO((tmp_path / 'results.csv').read_text())))
    assert [row['step'] for row in rows] == ['0', '1']
    assert rows[0]['b'] == '' and float(rows[1]['b']) == 0.5
    assert float(rows[1]['mIoU_all']) == 0.5


@pytest.mark.parametrize('change, message', [
    (lambda c: c.update(version=3), 'version 3'),
    (lambda c: c.update(version=1), 'version 1.*reads version 2'),
    (lambda c: c.update(schema='other'), 'not a record'),
    (lambda c: c.pop('scenario'), 'scenario'),
    (lambda c: c['steps'][0].update(iou=[63.1, 0.1]), r'\$.steps\[0\].iou'),
    (lambda c: c['steps'][0].pop('cost'), 'cost'),
    (lambda c: c.update(status='lost'), 'status'),
])
def test_wrong_records_are_refused(record, tmp_path, change, message):
    content = copy.deepcopy(record.content)
    change(content)
    (tmp_path / 'record.json').write_text(json.dumps(content))
    with pytest.raises(RecordError, match=message):
        Record.read(tmp_path)


def test_missing_and_broken_files(tmp_path):
    with pytest.raises(RecordError, match='no record'):
        Record.read(tmp_path)
    (tmp_path / 'record.json').write_text('{"schema"')
    with pytest.raises(RecordError, match='not JSON'):
        Record.read(tmp_path)


def test_invalid_content_is_never_written(record, tmp_path):
    record.write(tmp_path)
    before = (tmp_path / 'record.json').read_text()
    record.steps[0]['pixel_accuracy'] = float('nan')
    with pytest.raises((RecordError, ValueError)):
        record.write(tmp_path)
    assert (tmp_path / 'record.json').read_text() == before


def test_only_new_steps_are_checked(record, tmp_path, monkeypatch):
    """A run of a thousand steps writes its record a thousand times."""
    checked = []
    whole = record_module._check_part
    monkeypatch.setattr(record_module, '_check_part', lambda *args: (
        checked.append(args[3] if args[3:] else '$'), whole(*args)))
    record.write(tmp_path)
    assert checked == ['$', '$.steps[0]', '$.steps[1]']
    again = Record.read(tmp_path)
    checked.clear()
    again.add_step(entry(2, [0.8, 0.2, 0.5]), {})
    again.write(tmp_path)
    assert checked == ['$', '$.steps[2]']


def test_a_config_comes_back(record):
    config = dict(size=(24, (8, 'x')), lists=[[1, 2], [3, (4, )]], mu=math.inf,
                  none=None, table={'voc 15-1': 1., 'else': dict(a=True)},
                  numbers={0: 'a', (1, 2): 'b'}, kind=Record, empty={})
    record.content['run']['config'] = config_text(config)
    assert record.config == dict(config, kind='mmseg_spwc.record.Record')
    record.content['run']['config'] = "x = __import__('os')"
    with pytest.raises(RecordError, match='config in the record is not JSON'):
        _ = record.config


def test_a_changed_step_is_written_anew(record, tmp_path):
    record.write(tmp_path)
    record.steps[0]['iou'][1] = 0.25
    record.steps[1]['cost']['wall_time'] = 7
    record.write(tmp_path)
    assert Record.read(tmp_path).content == record.content


@pytest.mark.parametrize('name, values', [
    ('iou', [0.5, 0.2, 1.5]), ('iou', [0.5, -0.1, None]),
    ('iou', [0.5, '0.2']), ('iou', [0.5, True]), ('iou', [[0.5]]),
    ('iou', [float('nan'), 2.]), ('class_ids', [0, 1.5, 2]),
    ('class_ids', [0, None]), ('classes', ['a', 3])])
def test_one_wrong_value_in_a_list_is_found(record, tmp_path, name, values):
    content = copy.deepcopy(record.content)
    content['steps'][1][name] = values
    (tmp_path / 'record.json').write_text(json.dumps(content))
    with pytest.raises(RecordError, match=rf'steps\[1\]\.{name}\['):
        Record.read(tmp_path)
    with pytest.raises(RecordError, match=rf'steps\[1\]\.{name}\['):
        Record(content).write(tmp_path / 'other')
    assert not (tmp_path / 'other').exists()


@pytest.mark.parametrize('values', [
    [], [None], [0.5, None, 1], [0, 1], [1.0, 0.0]])
def test_lists_that_are_right_pass(record, tmp_path, values):
    ids = list(range(len(values)))
    record.steps[1].update(iou=values, class_ids=ids, kpi=None,
                           classes=[str(i) for i in ids])
    record.write(tmp_path)
    assert Record.read(tmp_path).step(1)['iou'] == values


def longer(values):
    values.append(values[-1])


@pytest.mark.parametrize(('change', 'says'), [
    (lambda c: longer(c['steps'][1]['classes']), 'classes, class_ids, iou'),
    (lambda c: longer(c['steps'][1]['kpi']['class']), 'kpi.class differ'),
    (lambda c: c['steps'][1].update(curves=dict(
        iterations=[1, 2], losses=dict(loss=[.1]))), 'loss, iterations diff'),
    (lambda c: c['steps'][1].update(priority=dict(
        unit='class', rule='spwc', psi=[.1], eta=[], v=[1], mu=1, f=0)),
     'psi, eta, v differ'),
    (lambda c: c['steps'][0].pop('iou'), "'iou' is a required"),
    (lambda c: c['steps'][0]['miou'].pop('all'), "'all' is a required"),
    (lambda c: c.pop('summary'), "'summary' is a required"),
    (lambda c: c['summary'].update(all='x'), "'x' is not of type"),
    (lambda c: c['scenario'].update(steps=[1]), '1 is not of type'),
])
def test_what_does_not_go_together_is_found(record, tmp_path, change, says):
    change(record.content)
    (tmp_path / 'record.json').write_text(json.dumps(record.content))
    with pytest.raises(RecordError, match=says):
        Record.read(tmp_path)


def test_a_table_without_a_step_has_no_task():
    assert _task_table([]) == [
        ['step', 'accuracy_mean', 'accuracy_all', 'wall_time']]
