"""Means, deviations, and which setting is chosen."""
import json
import statistics

import pytest

from mmseg_spwc.errors import RecordError
from mmseg_spwc.record import Record
from mmseg_spwc.sweep.aggregate import (
    aggregate,
    best_lines,
    expand_sweeps,
    final_scores,
    held_out_score,
    read_aggregate,
    write_aggregate,
)
from mmseg_spwc.visualization.tables import paper_table


def run(setting, seed, held_out, test, method='ewc', finished=True):
    group = f'{method}_k={setting}'
    return dict(
        name=f'{group}_seed{seed}', group=group, method=method, scenario='x',
        setting=dict(k=setting), seed=seed, folder=f'trials/{group}{seed}',
        finished=finished, held_out=held_out if finished else None,
        test=test if finished else None, wall_time=1., attempts=1, reason='')


def by_name(content):
    return {s['name']: s for s in content['settings']}


def test_the_held_out_score_chooses():
    """The other setting is better on the test images; that counts nothing.
    """
    content = aggregate('s', 'held-out accuracy', [
        run(1, 0, .5, .9), run(1, 1, .6, .9), run(2, 0, .7, .1),
        run(2, 1, .8, .2), run(1, 0, .1, .1, 'mas')])
    found = by_name(content)
    assert [n for n, s in found.items() if s['best']] == [
        'ewc_k=2', 'mas_k=1']
    two = found['ewc_k=2']
    assert two['seeds'] == [0, 1] and two['missing'] == []
    assert two['held_out'] == dict(
        mean=pytest.approx(.75), sd=pytest.approx(statistics.stdev([.7, .8])))
    assert two['test']['mean'] == pytest.approx(.15)
    assert found['mas_k=1']['held_out']['sd'] is None
    assert len(content['runs']) == 5
    assert best_lines(content) == [
        'best of 2: ewc_k=2, held-out accuracy 75.0, test 15.0']


def test_a_setting_that_lost_a_seed_is_no_rival():
    runs = [run(1, 0, .5, .5), run(1, 1, .5, .5), run(2, 0, .9, .9),
            run(2, 1, .9, .9, finished=False)]
    found = by_name(aggregate('s', 'held-out accuracy', runs))
    assert found['ewc_k=1']['best'] and not found['ewc_k=2']['best']
    assert found['ewc_k=2']['missing'] == [1]
    # unless there is no other
    runs[0] = run(1, 0, .5, .5, finished=False)
    found = by_name(aggregate('s', 'held-out accuracy', runs))
    assert found['ewc_k=2']['best']


def test_nothing_is_chosen_from_nothing():
    found = aggregate('s', None, [run(1, 0, None, None, finished=False),
                                  run(2, 0, None, None, finished=False)])
    assert not any(s['best'] for s in found['settings'])
    # a single setting needs no held-out score
    found = aggregate('s', None, [run(1, 0, None, .5)])
    assert found['settings'][0]['best']


def record_with(problem, **kpi):
    content = dict(problem=problem, task=problem,
                   steps=[dict(kpi=dict(kpi, split='heldout'))])
    return Record(content)


def test_held_out_scores():
    seg = {'class': [.2, None, .4], 'step': [.9]}
    assert held_out_score(
        record_with('segmentation', **seg)) == pytest.approx(.3)
    cls = {'class': None, 'step': [.5, .7]}
    assert held_out_score(
        record_with('classification', **cls)) == pytest.approx(.6)
    assert held_out_score(None) is None
    assert held_out_score(Record(dict(steps=[dict(kpi=None)]))) is None


def test_final_scores_have_classes_where_there_is_iou():
    classes = dict(class_ids=[0, 7], classes=['a', 'b'])
    record = record_with('segmentation')
    record.content['summary'] = dict(all=.3)
    record.steps[0].update(classes, iou=[.2, .4])
    assert final_scores(record) == dict(all=.3, class_0=.2, class_7=.4)
    record = record_with('classification')
    record.content['summary'] = dict(average_apa=.5)
    record.steps[0].update(classes, accuracy_by_step=[.5])
    assert final_scores(record) == dict(average_apa=.5)


def test_files(tmp_path):
    content = aggregate('s', 'held-out accuracy', [
        run(1, 0, .5, .5), run(2, 0, .7, .4), run(2, 1, .7, .4)])
    write_aggregate(content, tmp_path)
    read = read_aggregate(tmp_path)
    assert read == read_aggregate(tmp_path / 'sweep.json')
    assert read['settings'] == content['settings']
    folders, sweeps = expand_sweeps(['a', tmp_path])
    assert folders == ['a', f'{tmp_path}/trials/ewc_k=20',
                       f'{tmp_path}/trials/ewc_k=21']
    assert sweeps == [read]
    assert expand_sweeps([tmp_path / 'sweep.json'])[0] == folders[1:]


@pytest.mark.parametrize('text, message', [
    ('{', 'is broken'), ('[]', 'is broken'), ('{}', 'is broken'),
    ('{"schema": "mmseg_spwc.sweep", "version": 9}', 'of version 1'),
    ('{"schema": "mmseg_spwc.sweep", "version": 1}', 'is broken'),
    (json.dumps(dict(schema='mmseg_spwc.sweep', version=1, runs=[{}],
                     settings=[])), 'is broken'),
])
def test_broken_files(tmp_path, text, message):
    (tmp_path / 'sweep.json').write_text(text)
    with pytest.raises(RecordError, match=message):
        read_aggregate(tmp_path)


def with_scores(method, seed, **scores):
    return dict(run(1, seed, .5, .5, method), scores=scores)


def test_published_scores_stand_beside_those_of_the_best_settings():
    runs = [with_scores('ewc', 0, average_apa=.50, ps_active=.3, class_0=.7),
            with_scores('ewc', 1, average_apa=.54, ps_active=.3, class_0=.8),
            with_scores('mas', 0, average_apa=.61)]
    paper = dict(title='APA', scores=dict(
        ewc=dict(average_apa=(51.3, 1.9), ps_active=0.29, class_0=80.)))
    table = paper_table(aggregate('s', None, runs, paper))
    assert [c.label for c in table.columns] == ['Avg-APA', 'PS', 'class 0']
    texts = {line[0]: line[1:] for line in table.lines(bold='[{}]')}
    assert texts['ewc, published'] == ['51.3±1.9', '0.29', '80.0']
    assert texts['ewc, here'] == ['52.0±2.8', '0.30±0.00', '75.0±7.1']
    assert texts['ewc, difference'] == ['0.7', '0.01', '-5.0']
    assert texts['mas'] == ['[61.0]', '-', '-']
    assert paper_table(aggregate('s', None, runs)) is None
