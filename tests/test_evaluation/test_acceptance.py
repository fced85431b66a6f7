"""Whether a step may be shipped."""
import pytest

from mmseg_spwc.evaluation import judge


def entries(*rows):
    names = ['background', 'car', 'tram', 'bus']
    return [dict(step=t, classes=names[:len(row)], iou=list(row))
            for t, row in enumerate(rows)]


def test_a_step_that_keeps_the_old_and_learns_the_new_is_accepted():
    found = judge(entries([.9, .5], [.88, .51, .2]), old_drop=2., new_min=20.)
    assert found['passed'] and found['fell'] == []
    assert found['reason'] == (
        'all classes are good enough; an old one may fall 2.0 points and a '
        'new one needs 20.0')


def test_what_fell_and_what_is_too_low_is_named():
    found = judge(entries([.9, .5], [.91, .479, .199]), 2., 20.)
    assert not found['passed'] and found['fell'] == ['car']
    assert found['reason'].startswith('car fell 50.0 -> 47.9, tram has 19.9;')


@pytest.mark.parametrize('limits', [dict(old_drop=2.), dict(new_min=20.)])
def test_a_limit_that_is_not_set_does_not_count(limits):
    rows = entries([.9, .5], [.9, .1, .5] if 'new_min' in limits else
                   [.9, .5, .1])
    assert judge(rows, **limits)['passed']


def test_all_classes_of_step_0_are_new():
    assert judge(entries([.9, .1]), 2., 20.)['reason'].startswith(
        'car has 10.0;')


def test_a_rejected_step_does_not_lower_the_bar():
    steps = entries([.9, .5], [.9, .3, .6], [.9, .3, .6, .4])
    steps[0]['accepted'] = dict(passed=True)
    steps[1]['accepted'] = dict(passed=False)
    assert judge(steps, 2.)['fell'] == ['car']
    steps[1]['accepted'] = dict(passed=True)
    assert judge(steps, 2.)['passed']


def test_a_class_without_test_images_is_not_accepted_as_new():
    assert 'no test image shows tram' in judge(
        entries([.9, .5], [.9, None, None]), 2., 20.)['reason']
    assert judge(entries([.9, None], [.9, .5]), 2.)['passed']
    taken = dict(entries([.9])[0], classes=list('abcde'), iou=[None] * 5)
    assert judge([taken], 2., 20.)['reason'].startswith(
        'no test image shows a, b, c and 2 more; ')


def test_a_classifier_is_judged_by_what_each_step_taught():
    steps = [dict(step=0, classes=['a'], accuracy_by_step=[.9]),
             dict(step=1, classes=['a', 'b'], accuracy_by_step=[.8, .95])]
    assert judge(steps, 5., 50.)['fell'] == ['step 0']
