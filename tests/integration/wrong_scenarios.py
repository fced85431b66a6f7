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


ROAD = dict(classes=['road', 'car'])


def street(*steps, **options):
    return scenario(dataset='street', steps=steps, **options)


def pole(classes=('pole', ), **data):
    """A step with data of its own, but for a mistake."""
    return dict(classes=list(classes), data=dict(
        dict(train=dict(ann_file='a'), labels=dict(pole=7)), **data))


def own_shapes(labels, classes=('disc', ), **data):
    """Train on the shapes as a folder of their own."""

    def make(case):
        cfg = case.segment()
        source = dict(ann_file='ImageSets/Segmentation/train.txt',
                      data_prefix=dict(img_path='JPEGImages',
                                       seg_map_path='SegmentationClass'))
        cfg.scenario = dict(dataset='mine', steps=[dict(
            classes=list(classes),
            data=dict(train=source, test=source, labels=labels, **data))])
        train(cfg)

    return make


def in_memory_and_not(case):
    cfg = case.digits()
    source = dict(type='mmseg_spwc.DigitImages')
    cfg.scenario = dict(problem='classification', dataset='mine', steps=[
        dict(classes=['0', '1']),
        dict(classes=['new'], data=dict(train=source, test=source))])
    train(cfg)


OWN = (
    ('class of a step with data in two steps', street(
        ROAD, pole(['pole', 'car'])), "'car' is in step 0 and again in s"),
    ('key of a step', street(dict(classes=['road'], dta=None)),
     "Step 0: Unknown key 'dta'. Did you mean 'data'"),
    ('key of the data of a step', street(ROAD, pole(label=dict(pole=7))),
     "Step 1, data: Unknown key 'label'. Did you mean 'labels'"),
    ('classes of a step in one text', street(dict(classes='road')),
     "Step 0 has classes='road': give a list of names"),
    ('data of a step that are a path', street(
        ROAD, dict(classes=['pole'], data='poles')),
     "Step 1 has data='poles': give a dict with train and test, or None"),
    ('word for old classes', street(ROAD, pole(old='ignore')),
     "Unknown old 'ignore'.*background, labelled"),
    ('labels in a list', street(ROAD, pole(labels=['pole'])),
     r"labels=\['pole'\]: give the values in the masks by name"),
    ('label value in words', street(ROAD, pole(labels=dict(pole='7'))),
     "labels pole='7': give a label value, a list"),
    ('label of a class that no step learns', street(
        ROAD, pole(labels=dict(pole=7, cat=3))),
     "Unknown class in the labels of step 1 'cat'. Did you mean 'car'"),
    ('new class without a label', street(
        ROAD, pole(labels=dict(car=7))),
     "Step 1 learns 'pole', but its labels do not say which value"),
    ('value of two classes', street(
        ROAD, pole(labels=dict(pole=[7, 8], car=8))),
     "the value 8 means both 'pole' and 'car': leave one out"),
    ('others twice', street(ROAD, pole(labels=dict(
        pole='others', background='others'))),
     "background cannot have 'others': give its values"),
    ('old classes labelled without a label', street(
        ROAD, pole(old='labelled')),
     "old='labelled', but its labels name no class of an earlier step"),
    ('background in a later step', street(
        ROAD, dict(classes=['background', 'pole'])),
     'Step 1 learns background, which belongs to step 0'),
    ('class with a reserved name', street(dict(classes=['void'])),
     "Step 0 learns 'void', a word that labels have"),
    ('ids and names of one dataset', street(
        dict(classes=[1, 2]), dict(classes=['pole']), num_classes=3),
     'have ids and names: give the classes of all of them in one way'),
    ('ids of an unknown dataset', street([1, 2], pole()),
     'Some steps are class ids: give num_classes'),
    ('num_classes beside names', street(ROAD, num_classes=3),
     'num_classes is of no use where all classes have names'),
    ('domains with data of their own', street(
        ROAD, kind='domain', domain_pattern='(.)'),
     "leave kind='domain' out"),
    ('label value above 255', street(ROAD, pole(labels=dict(pole=300))),
     'A mask has no label above 255, but those of step 1 have 300'),
    ('value that no class has', own_shapes(dict(disc=1)),
     r'holds the label \d.*which no class of its step has: name it in labels'),
    ('class that no value shows', own_shapes(
        dict(disc=99, background='others')),
     r'No training image for step 0 \(class disc\)'),
    ('dataset that names no class', own_shapes(None),
     'do not say which label is disc: their dataset names no class. Give'),
    ('first step without data', lambda case: train(case.segment(
        scenario=dict(_delete_=True, dataset='mine', steps=[
            dict(classes=['disc'], data=None),
            dict(classes=['square'])]))),
     r'Step 0 \(disc\) has no training images .*or start_from, a model'),
    ('task that its dataset does not name', in_memory_and_not,
     'The data of step 1 do not say which label is new: .* names 0, 1, '),
)
SCENARIOS = [Row(*row) for row in (
    *OWN,
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
