"""Old words of a scenario are refused, and old files stay of use."""
import pytest

from mmseg_spwc.scenario import (
    build_scenario,
    get_classification_scenario,
    get_scenario,
    in_new_words,
)


@pytest.mark.parametrize(('old', 'message'), [
    (dict(task='classification'), "is written problem='classification' now"),
    (dict(task='segmentation'), "is written problem='segmentation' now"),
    (dict(problem='classification', heads='task'),
     "heads='task' of a scenario is written heads='per_step' now"),
])
def test_old_words_are_refused(old, message):
    with pytest.raises(ValueError, match=message):
        build_scenario(dict(old, dataset='permuted_mnist', name='10'))


def test_old_words_of_a_record_are_read():
    old = dict(task='classification', kind='domain', heads='task',
               dataset='permuted_mnist', name='10')
    assert build_scenario(in_new_words(old)) == get_classification_scenario(
        'permuted_mnist', '10', heads='per_step')
    split = dict(problem='classification', kind='task', dataset='cifar100',
                 name='10x10')
    assert in_new_words(split) == split


# as the release before the words changed computed them
@pytest.mark.parametrize(('scenario', 'whole', 'base'), [
    (get_scenario('voc', '15-1'), '7df151d41f2cd5f7', '4054c574187be950'),
    (get_scenario('shapes', '6-1'), '2eb662035331b5d8', 'c67e615e04766b53'),
    (get_classification_scenario('permuted_mnist', '10'),
     '342037e2ff6f550b', '5772214d25e56236'),
    (get_classification_scenario('permuted_mnist', '10', heads='per_step'),
     '76aeca018247c2bc', '6d5d955dbd5592b8'),
    (get_classification_scenario('cifar100', '10x10', order='natural'),
     '9f2b6595dbe51a4e', '22bcc18ccbd2654a'),
])
def test_digests_are_those_of_older_checkpoints(scenario, whole, base):
    assert scenario.hash.startswith(whole)
    assert scenario.base_hash.startswith(base)
