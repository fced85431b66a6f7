"""Reading runs and putting them together."""
import json

import pytest
from made_records import classification, segmentation, write

from mmseg_spwc.errors import RecordError
from mmseg_spwc.visualization.runs import compare, load_runs
from mmseg_spwc.visualization.tables import final_table


def test_seeds_of_a_method_are_one_group(tmp_path):
    folders = [write(segmentation(method, seed), tmp_path / f'{method}{seed}')
               for method in ('RCIL', 'MiB') for seed in (2, 1)]
    runs, problems = load_runs(folders)
    comparison, = compare(runs)
    assert problems == []
    assert [g.label for g in comparison.groups] == ['RCIL', 'MiB']
    assert [r.seed for r in comparison.groups[0].runs] == [1, 2]
    assert comparison.groups[0].run_label(runs[0]) == 'RCIL, seed 2'
    assert comparison.steps == [0, 1, 2]


def test_a_repeated_seed_means_another_config(tmp_path):
    runs, _ = load_runs([
        write(segmentation(name='k2'), tmp_path / 'a'),
        write(segmentation(name='k4'), tmp_path / 'b'),
        write(segmentation(name='k4', seed=1), tmp_path / 'c')])
    groups = compare(runs)[0].groups
    assert [g.label for g in groups] == ['RCIL (k2)', 'RCIL (k4)']
    assert [len(g.runs) for g in groups] == [1, 2]


def test_equal_names_are_told_apart_by_folder(tmp_path):
    runs, _ = load_runs([write(segmentation(), tmp_path / n) for n in 'ab'])
    assert [g.label for g in compare(runs)[0].groups] == [
        'RCIL (a)', 'RCIL (b)']


def test_the_same_folder_twice_is_one_run(tmp_path):
    folder = write(segmentation(), tmp_path / 'a')
    runs, _ = load_runs([folder, folder])
    assert len(runs) == 1


def test_scenarios_are_compared_apart(tmp_path):
    other = segmentation(steps=4)
    runs, _ = load_runs([
        write(segmentation(), tmp_path / 'a'), write(other, tmp_path / 'b'),
        write(classification(), tmp_path / 'c')])
    comparisons = compare(runs)
    assert len(comparisons) == 3
    assert [c.title for c in comparisons] == [
        'made 2-1 overlapped (00000003)', 'made 2-1 overlapped (00000004)',
        'digits permuted domains']
    keys = [g.key for c in comparisons for g in c.groups]
    assert len(set(keys)) == 3


def test_task_orders_of_a_classification_may_follow_the_seed(tmp_path):
    runs, _ = load_runs([
        write(classification(seed=s), tmp_path / str(s)) for s in (0, 1)])
    comparison, = compare(runs)
    assert len(comparison.groups) == 1


def test_unreadable_records_are_reported_and_the_others_shown(tmp_path):
    write(segmentation(), tmp_path / 'good')
    old = segmentation().content
    old['version'] = 99
    (tmp_path / 'old').mkdir()
    (tmp_path / 'old/record.json').write_text(json.dumps(old))
    runs, problems = load_runs(
        [tmp_path / 'good', tmp_path / 'old', tmp_path / 'none'])
    assert len(runs) == 1
    assert 'version 99' in problems[0] and 'no record' in problems[1]
    with pytest.raises(RecordError, match='version 99'):
        load_runs([tmp_path / 'old'])


def test_one_late_step_is_further_than_two_early_ones(tmp_path):
    joint = segmentation('Joint (once)', steps=3)
    joint.content['steps'] = joint.steps[-1:]
    early = segmentation(steps=2, planned=3, finished=False)
    none = segmentation('MiB', steps=0, planned=3, finished=False)
    runs, _ = load_runs([write(r, tmp_path / str(i))
                         for i, r in enumerate((early, joint, none))])
    comparison, = compare(runs)
    assert comparison.example.content['method'] == 'Joint (once)'
    assert 'RCIL (step 1)' in final_table([early, joint, none])


def test_only_the_furthest_seeds_are_compared(tmp_path):
    runs, _ = load_runs([
        write(segmentation(seed=0), tmp_path / 'a'),
        write(segmentation(seed=1, steps=2, planned=3, finished=False),
              tmp_path / 'b')])
    group, = compare(runs)[0].groups
    assert group.last_step == 2
    assert [r.content['run']['seed'] for r in group.furthest] == [0]


def test_runs_of_spwc_are_told_apart_by_its_options(tmp_path):
    runs, _ = load_runs([
        write(segmentation('RCIL+spWC', seed, name=f'try{k}',
                           self_paced=dict(k=k)), tmp_path / f'{k}{seed}')
        for k in (2, 4) for seed in (0, 1)])
    groups = compare(runs)[0].groups
    assert [g.label for g in groups] == ['RCIL+spWC (k=2)', 'RCIL+spWC (k=4)']
    assert [len(g.runs) for g in groups] == [2, 2]
