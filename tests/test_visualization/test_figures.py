"""Figures for papers: what they plot, and that they are written."""
from pathlib import Path

import numpy as np
import pytest
import scipy.stats
import torch
from made_records import classification, segmentation, write

from mmseg_spwc.consolidation import StepStore
from mmseg_spwc.errors import RecordError
from mmseg_spwc.visualization.figures import FIGURES, save
from mmseg_spwc.visualization.figures.ablation import by_setting
from mmseg_spwc.visualization.figures.plots import (
    correlation,
    facts,
    normalised,
)
from mmseg_spwc.visualization.gallery import Gallery, Picture
from mmseg_spwc.visualization.runs import Run, compare
from mmseg_spwc.visualization.series import efficiencies, objective


def comparison_of(*records):
    return compare([Run(r, Path(f'run{i}')) for i, r in enumerate(records)])[0]


def lines_of(axes):
    return {line.get_label(): line.get_ydata() for line in axes.lines}


def test_apa_and_acf():
    seeds = [classification(seed=s) for s in (0, 1)]
    figure = FIGURES['apa_acf'](comparison_of(*seeds))
    apa = [[np.mean(s['accuracy_by_step']) for s in r.steps] for r in seeds]
    drawn = [lines_of(axes)['EWC'] for axes in figure.axes]
    assert drawn[0] == pytest.approx(100 * np.mean(apa, 0))
    acf = [[row[0] - value for value in row] for row in apa]
    assert drawn[1] == pytest.approx(100 * np.mean(acf, 0))
    assert len(figure.axes[0].collections) == 1  # the deviation's band


def test_ps_of_ewc_is_the_harmonic_mean():
    found = efficiencies(classification(tasks=10))
    assert list(found) == list(range(1, 11))
    for m, value in found.items():
        assert value == pytest.approx(sum(1 / t for t in range(1, m + 1)) / m)
    figure = FIGURES['ps_by_task'](comparison_of(classification()))
    assert len(lines_of(figure.axes[0])['EWC']) == 4


def test_priorities_are_the_records():
    record = segmentation('RCIL+spWC', steps=3)
    figure = FIGURES['priority'](comparison_of(record, segmentation('MiB')))
    image = figure.axes[0].images[0].get_array()
    for i, step in enumerate(record.steps[1:]):
        v = step['priority']['v']
        assert image[:len(v), i].tolist() == pytest.approx(v)
    assert np.ma.getmaskarray(image)[-1, 0]  # not old yet
    ticks = figure.axes[0].get_xticklabels()
    assert [t.get_text() for t in ticks] == ['1', '2']  # as steps are called


def test_objective_is_loss_plus_penalty():
    entry = dict(curves=dict(iterations=[10, 20, 30], losses=dict(
        loss=[3., 2., 1.], penalty=[None, 4., None])))
    assert objective(entry) == ([10, 20, 30], [7., 6., 5.])
    assert objective({}) == ([], [])
    figure = FIGURES['convergence'](comparison_of(segmentation(steps=2)))
    assert list(lines_of(figure.axes[0])) == ['0', '1']


def test_regularisers_side_by_side():
    records = [segmentation('RCIL+spWC', seed, self_paced=dict(rule=rule))
               for rule in ('hard', 'linear') for seed in (0, 1)]
    comparison = comparison_of(*records, segmentation('RCIL'))
    found = by_setting(comparison, 'rule')
    assert {k: len(v) for k, v in found.items()} == dict(
        hard=2, linear=2, none=1)
    axes = FIGURES['regulariser_ablation'](comparison).axes[0]
    heights = [bar.get_height() for bar in axes.patches[:3]]
    expected = [np.mean([100 * r.steps[-1]['miou']['all'] for r in rs])
                for rs in found.values()]
    assert heights == pytest.approx(expected)


def test_methods_of_an_ablation_are_kept_apart():
    found = by_setting(comparison_of(
        segmentation('RCIL+spWC', self_paced=dict(k=4)),
        segmentation('RCIL+spWC', 1, self_paced=dict(k=2)),
        segmentation('MiB')), 'k')
    assert list(found) == ['RCIL: 2', 'RCIL: 4', 'MiB: none']
    with pytest.raises(RecordError, match='differ'):
        by_setting(comparison_of(segmentation()), 'k')


def test_runs_of_one_seed_are_no_seeds_of_each_other():
    """The whiskers are over seeds, not over other differences."""
    found = by_setting(comparison_of(
        segmentation('RCIL+spWC', self_paced=dict(rule='spwc')),
        segmentation('RCIL+spWC (protected)', self_paced=dict(rule='spwc')),
        segmentation('RCIL')), 'rule')
    assert {k: len(v) for k, v in found.items()} == {
        'RCIL+spWC': 1, 'RCIL+spWC (protected)': 1, 'none': 1}


def test_k_table(tmp_path):
    records = [segmentation('RCIL+spWC', k, self_paced=dict(k=k))
               for k in (4, 2, 10)]
    table = FIGURES['k_ablation'](comparison_of(*records))
    assert table.labels == ['2', '4', '10']
    assert table.rows[1][0].mean == records[0].steps[-1]['miou']['all']
    paths = save(table, tmp_path / 'k')
    assert [p.suffix for p in paths] == ['.md', '.tex']
    assert '| k | final mIoU |' in paths[0].read_text()


def test_importance_against_error(tmp_path):
    record = classification(tasks=3)
    folder = write(record, tmp_path / 'run')
    store = StepStore(folder / 'consolidation')
    values = [[1., 3.], [5., 9.], [2., 2.]]
    for task, pair in enumerate(values):
        tensors = {'w': torch.tensor(pair)}
        store.save(task, tensors, tensors)
    importance, error = facts(Run(record, folder))
    assert importance == pytest.approx([2., 7., 2.])
    assert error == pytest.approx(
        [1 - s['kpi']['step'][-1] for s in record.steps])
    expected = scipy.stats.pearsonr(importance, error).statistic
    assert correlation(importance, error) == pytest.approx(expected)
    assert normalised([2., 7., 2.]) == [0., 1., 0.]
    figure = FIGURES['importance_error'](
        compare([Run(record, folder)])[0])
    assert f'r = {expected:.2f}' in figure.axes[0].get_title()


def test_no_correlation_of_what_does_not_vary():
    assert np.isnan(correlation([1., 1.], [1., 2.]))
    assert normalised([3., 3.]) == [0., 0.]


def test_grid_of_images():
    labels = np.array([[0, 1], [255, 1]])
    picture = Picture('a', np.zeros((2, 2, 3), np.uint8), labels,
                      {'g0': labels})
    gallery = Gallery(['background', 'disc'], [[0, 0, 0], [9, 8, 7]],
                      [picture], [])
    figure = FIGURES['qualitative'](comparison_of(segmentation()), gallery)
    assert [a.get_title() for a in figure.axes] == [
        'image', 'ground truth', 'RCIL']
    truth = figure.axes[1].images[0].get_array()
    assert truth[0, 1].tolist() == [9, 8, 7]
    assert truth[1, 0].tolist() == [224, 224, 192]
    with pytest.raises(RecordError, match='elsewhere'):
        FIGURES['qualitative'](comparison_of(segmentation()),
                               Gallery(missing=['They are elsewhere.']))


def test_files_are_written_and_the_same_again(tmp_path):
    comparison = comparison_of(segmentation('$a_b^{<x>'))
    draw = FIGURES['apa_acf']
    first = [p.read_bytes() for p in save(draw(comparison), tmp_path / 'a')]
    again = [p.read_bytes() for p in save(draw(comparison), tmp_path / 'b')]
    assert first == again
    assert first[0][:4] == b'\x89PNG' and first[1][:4] == b'%PDF'


@pytest.mark.parametrize('name', ['ps_by_task', 'priority',
                                  'importance_error', 'k_ablation',
                                  'regulariser_ablation', 'convergence'])
def test_runs_without_the_facts_are_refused(name):
    with pytest.raises(RecordError):
        FIGURES[name](comparison_of(segmentation(with_curves=False)))
