"""Scores of units whose held-out images are gone."""
import pytest

from mmseg_spwc.errors import ConfigError
from mmseg_spwc.problems import check_data_left, keep_last_scores
from mmseg_spwc.scenario import build_scenario

GONE = dict(data=None)
POLE = dict(classes=['pole'], data=dict(train=dict(a=1),
                                        labels=dict(pole=7)))
ROAD = dict(classes=['road', 'car'])


def street(*steps, **options):
    return build_scenario(dict(dataset='street', steps=steps, **options))


def kpi(classes, steps):
    return {'split': 'heldout', 'class': classes, 'step': steps}


def entry(step, *scores):
    return dict(step=step, kpi=kpi(*scores))


def test_where_all_data_are_there_nothing_changes():
    found = kpi([.9, None, .8], [.85])
    assert keep_last_scores(found, street(ROAD, POLE), 0, []) is found
    assert keep_last_scores(None, street(ROAD, POLE), 0, []) is None


def test_the_last_known_scores_are_kept():
    scenario = street(ROAD | GONE, POLE, dict(classes=['tree'], **GONE))
    earlier = [entry(0, [.9, .5, None], [.7]),
               entry(1, [.8, None, None, .3], [.8, .3])]
    # pole is not gone: that it was not seen this time is as it was
    found = keep_last_scores(kpi([.7, None, None, None, None],
                                 [.7, None, None]), scenario, 2, earlier)
    assert found['class'] == [.7, .5, None, None, None]
    assert found['since'] == {'class': [2, 0, None, None, None],
                              'step': [2, None, None]}
    # what was kept once is kept on, with its own date
    again = keep_last_scores(kpi([.6, None, None, .1, None],
                                 [None, .1, None]), scenario, 2,
                             [*earlier, dict(step=2, kpi=found)])
    assert again['class'] == [.6, .5, None, .1, None]
    assert again['since']['class'] == [2, 0, None, 2, None]
    assert again['step'] == [.7, .1, None]


def test_nothing_scored_and_nothing_known():
    found = keep_last_scores(None, street(ROAD | GONE, POLE), 0, [])
    assert found == dict(kpi([None] * 3, [None]),
                         since={'class': [None] * 3, 'step': [None]})
    tasks = street(ROAD | GONE, POLE, problem='classification')
    found = keep_last_scores(kpi(None, [None, .4]), tasks, 1,
                             [entry(0, None, [.9])])
    assert found['step'] == [.9, .4]
    assert found['since'] == {'class': None, 'step': [0, 1]}


def test_steps_without_images_are_not_trained():
    scenario = street(ROAD | GONE, POLE)
    check_data_left(scenario, [1])
    with pytest.raises(ConfigError, match=r'Step 0 \(road, car\) has no tr'):
        check_data_left(scenario, [0, 1])
