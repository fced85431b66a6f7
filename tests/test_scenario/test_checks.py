"""Every wrong scenario is refused with a message that helps."""
import pytest

from mmseg_spwc.scenario import SegmentationScenario

CITY = r'^([a-z]+)_'


def build(steps=((1, 2), (3, )), num_classes=4, setting='overlapped', **kw):
    return SegmentationScenario('toy', 'mine', setting, steps, num_classes,
                                **kw)


def build_domain(steps=(('a', ), ('b', )), pattern=CITY, **kw):
    return build(steps, kind='domain', domain_pattern=pattern, **kw)


@pytest.mark.parametrize(('wrong', 'message'), [
    ({'steps': ()}, 'no steps: give at least one'),
    ({'steps': ((1, 2), (), (3, ))}, 'Step 1 learns nothing'),
    ({'steps': ((0, ), (1, 2, 3))}, 'Step 0 learns nothing'),
    ({'steps': ((1, 2), (3, 1))}, '1 is in step 0 and again in step 1'),
    ({'steps': ((1, 1, 2), (3, ))}, '1 is in step 0 and again in step 0'),
    ({'steps': ((1, 2), (3, 4))}, r'ids \[4\] are out of range.*from 1 to 3'),
    ({'steps': ((1, 2), (-1, 3))}, r'ids \[-1\] are out of range'),
    ({'steps': ((1, 2), (0, 3))}, r'ids \[0\].*step 0 only'),
    ({'steps': ((1, ), (3, ))}, r'No step learns.*\[2\].*partial=True'),
    ({'setting': 'overlaped'}, "Did you mean 'overlapped'"),
    ({'kind': 'domian'}, "Did you mean 'domain'"),
    ({'future': 'ignored'}, "Did you mean 'ignore'"),
    ({'void': 'bg'}, 'Unknown void'),
    ({'label_offset': 2}, 'Unknown label_offset 2'),
    ({'num_classes': 256}, 'from 2 to 255'),
    ({'num_classes': 1, 'steps': ((1, ), )}, 'from 2 to 255'),
    ({'test_ratio': 0.2}, "need kind='domain'"),
    ({'domain_pattern': CITY}, "need kind='domain'"),
])
def test_wrong_class_scenario(wrong, message):
    with pytest.raises(ValueError, match=message):
        build(**wrong)


@pytest.mark.parametrize(('wrong', 'message'), [
    ({'pattern': None}, 'one group'),
    ({'pattern': '[a-z]+_'}, 'one group'),
    ({'pattern': '([a-z]+)_([0-9]+)'}, 'one group'),
    ({'pattern': '([a-z]+'}, 'not a regular expression'),
    ({'test_ratio': 1.0}, 'below 1'),
    ({'test_ratio': -0.1}, 'below 1'),
    ({'test_ratio': float('nan')}, 'below 1'),
    ({'label_offset': 1}, 'no background'),
    ({'void': 'background'}, 'no background'),
    ({'num_classes': 0}, 'from 1 to 255'),
    ({'steps': (('a', 'b'), ('a', ))}, "'a' is in step 0 and again"),
])
def test_wrong_domain_scenario(wrong, message):
    with pytest.raises(ValueError, match=message):
        build_domain(**wrong)


@pytest.mark.parametrize(('steps', 'message'), [
    ((1, 2, 3), 'write every step as a list'),
    (((1, 2), ('bird', )), "holds 'bird'.*class ids"),
    (((1, 2.5), (3, )), 'holds 2.5'),
])
def test_steps_of_the_wrong_type(steps, message):
    with pytest.raises(TypeError, match=message):
        build(steps)


def test_domain_steps_of_the_wrong_type():
    with pytest.raises(TypeError, match='write every step as a list'):
        build_domain(('aachen', 'bremen'))
    with pytest.raises(TypeError, match='holds 3.*domain names'):
        build_domain((('aachen', ), (3, )))


def test_num_classes_of_the_wrong_type():
    with pytest.raises(TypeError):
        build(num_classes='4')


def test_partial_lets_a_class_out():
    assert build(((1, ), (3, )), partial=True).seen_classes(1) == (0, 1, 3)
