"""Scenarios that are wrong."""
from wrong_inputs import Row, digits_with, train

from mmseg_spwc.scenario import build_scenario


def scenario(**options):
    return lambda case: build_scenario(options)


def tasks(**change):
    """Learn the ten digits in two tasks of five, but for a change."""
    given = dict(problem='classification', dataset='digits', kind='task',
                 num_classes=10, steps=[[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]])

    def make(case):
        cfg = case.digits()
        cfg.scenario = dict(given, **change)
        train(cfg)

    return make


def shapes(**options):
    return lambda case: train(case.segment(**{
        f'scenario.{key}': value for key, value in options.items()}))


SCENARIOS = [Row(*row) for row in (
    ('class in two steps', shapes(steps=[[1, 2, 3, 4, 5], [5, 6, 7, 8]]),
     '5 is in step 0 and again in step 1'),
    ('empty step in the middle', shapes(
        steps=[[1, 2, 3, 4, 5], [], [6, 7, 8, 9, 10]]), 'Step 1 learns'),
    ('empty step', shapes(steps=[[1, 2, 3, 4, 5, 6, 7, 8, 9, 10], []]),
     'Step 1 learns nothing: put a class'),
    ('class in no step', shapes(steps=[[1, 2, 3, 4, 5], [6, 7, 8, 9]]),
     r'No step learns the classes \[10\]: add'),
    ('class out of range', shapes(steps=[list(range(1, 11)), [11]]),
     r'Class ids \[11\] are out of range'),
    ('class that is not a number', shapes(steps=[[1.5], [2]]),
     'Step 0 holds 1.5: .* lists class ids'),
    ('step that is not a list', shapes(steps=[1, 2]),
     'Step 0 is 1: write every step as a list'),
    ('unknown setting', shapes(setting='overlaped'),
     "Did you mean 'overlapped'"),
    ('unknown scenario key', shapes(futur='ignore'), "Did you mean 'future'"),
    ('number of classes in words', shapes(num_classes='11'),
     "num_classes is '11': give a whole number"),
    ('more classes than a mask has values', shapes(num_classes=300),
     'give a number from 2 to 255'),
    ('unknown dataset', scenario(dataset='vco', name='10-1'),
     "Unknown dataset 'vco'. Did you mean 'voc'"),
    ('unknown name', scenario(dataset='voc', name='7-4'),
     "Unknown scenario of voc '7-4'.*Known"),
    ('no dataset', scenario(name='10-1'), "needs the key 'dataset'"),
    ('unknown problem', scenario(problem='detection', dataset='voc'),
     "Unknown problem 'detection'. .*Known"),
    ('broken domain pattern', scenario(
        dataset='cityscapes_domain', name='1-1', domain_pattern='('),
     'not a regular expression.*correct it'),
    ('tasks that do not use up the classes', scenario(
        problem='classification', dataset='cifar100', name='10x9'),
     "'10x9'.*use up all 100"),
    ('tasks that need more than the classes', lambda case: train(
        case.digits(scenario=dict(
            _delete_=True, problem='classification', dataset='cifar100',
            name='10x11'))), 'use up all 100'),
    ('number of tasks in words', digits_with(**{'scenario.name': 'ten'}),
     'name is the number of tasks'),
    ('unknown order', digits_with(**{'scenario.order': 'alphabetic'}),
     "Unknown order 'alphabetic'. .*Known"),
    ('unknown kind', tasks(kind='tasks'), "(?i)kind.*'tasks'.*task, class"),
    ('one head for tasks', tasks(heads='shared'),
     "kind 'task' cannot have heads='shared'"),
    ('a head per step for classes', tasks(kind='class', heads='per_step'),
     "kind 'class' cannot have"),
    ('permuted tasks', tasks(permute=True), "permute needs kind='domain'"),
    ('digit in no task', tasks(steps=[[0, 1, 2, 3], [4, 5, 6, 7, 8]]),
     r'learns the classes \[9\]'),
    ('digit in two tasks', tasks(
        steps=[[0, 1, 2, 3, 4], [4, 5, 6, 7, 8, 9]]), '4 is in step 0'),
    ('empty task', tasks(steps=[[0, 1, 2, 3, 4], []]), '(?i)step 1'),
    ('digit out of range', tasks(
        steps=[[0, 1, 2, 3, 4], [5, 6, 7, 8, 9, 10]]), 'out of range'),
    ('more labels than classes', tasks(
        num_classes=5, steps=[[0, 1], [2, 3, 4]]),
     'labels? 5, 6, 7, 8, 9, but labels of digits go from 0 to 4'),
    ('task without images', tasks(
        num_classes=12, steps=[list(range(10)), [10, 11]]),
     'digits has 10 classes by its names, but the scenario counts 12'),
    ('fewer datasets than domains', tasks(
        kind='domain', steps=[['a'], ['b']]),
     r'1 dataset\(s\) for 2 domains'),
    ('typo in the dataset of tasks', tasks(
        dataset='permuted_digit', kind=None), 'permuted_digits'),
    ('typo in a key of tasks', tasks(stesp=[[0]]), 'stesp'),
)]
