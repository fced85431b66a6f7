"""Class orders, and the rules behind names such as ``10-1`` and ``10x10``.

Ids are written compactly: ``'1,3,5-7'`` stands for 1, 3, 5, 6, 7. Background
(id 0) is left out, since it always belongs to step 0.
"""
import re
from collections.abc import Sequence

Steps = tuple[tuple[int | str, ...], ...]
MOST_TASKS = 10_000  # that a name may ask for

# PASCAL VOC, 15-1: the fifteen classes of step 0, then the five single steps
VOC_15_1 = {
    'b': '12,9,20,7,15,8,14,16,5,19,4,1,13,2,11,17,3,6,18,10',
    'c': '13,19,15,17,9,8,5,20,4,3,10,11,18,16,7,12,14,6,1,2',
    'd': '15,3,2,12,14,18,20,16,11,1,19,8,10,7,17,6,5,13,9,4',
    'e': '7,5,3,9,13,12,14,19,10,2,1,4,16,8,17,15,18,6,11,20',
    'f': '7,13,5,11,9,2,15,12,14,3,20,1,16,4,18,8,6,10,19,17',
    'g': '7,5,9,1,15,18,14,3,20,10,4,19,11,17,16,12,8,6,2,13',
    'h': '12,9,19,6,4,10,5,18,14,15,16,3,8,7,11,13,2,20,17,1',
    'i': '13,10,15,8,7,19,4,3,16,12,14,11,5,20,6,2,18,9,17,1',
    'j': '1,14,9,5,2,15,8,20,6,16,18,7,11,10,19,3,4,17,12,13',
    'k': '16,13,1,11,12,18,6,14,5,3,7,9,20,19,15,4,2,10,8,17',
    'l': '10,7,6,19,16,8,17,1,14,4,9,3,15,11,12,2,18,20,13,5',
    'm': '18,4,14,17,12,10,7,3,9,1,8,15,6,13,2,5,11,20,16,19',
    'n': '5,4,13,18,14,10,19,15,7,9,3,2,8,16,20,1,12,11,6,17',
    'o': '9,12,13,18,7,1,15,17,10,8,4,5,20,16,6,14,19,11,2,3',
    'p': '9,12,13,18,2,11,15,17,10,8,4,5,20,16,6,14,19,1,7,3',
    'q': '3,14,13,18,2,11,15,17,10,8,4,5,20,16,6,12,19,1,7,9',
    'r': '3,14,13,1,2,11,15,17,7,8,4,5,9,16,19,12,6,18,10,20',
    's': '3,14,6,1,2,11,12,17,7,20,4,5,9,16,19,15,13,18,10,8',
    't': '3,15,13,1,2,11,18,17,7,20,8,5,9,16,19,14,6,12,10,4',
    'u': '3,15,13,14,6,11,18,17,7,20,8,4,9,16,10,1,2,12,19,5',
    'v': '1,2,12,14,6,19,18,17,5,20,8,4,9,16,10,3,15,13,11,7',
    'w': '1,2,12,14,13,19,18,7,11,20,8,4,9,16,10,3,15,6,5,17',
}

# PASCAL VOC by number of training images, the most last, so that steps of
# single classes are not small. Counted are the images of train.txt and the
# 2 694 of aug.txt at 128 px whose mask shows the class: 71, 79, 82, 84, 87,
# 88, 96, 114, 117, 124, 129, 166, 186, 234, 264, 299, 444, 951, 1000, 1177.
VOC_FREQUENT_LAST = '2,6,4,19,14,1,11,20,3,5,16,18,7,9,10,17,13,15,8,12'

# ADE20K, two random orders for each of: 100 at step 0, the fifty of 100-50,
# the five tens of 100-10, and the first and second fifty of 50-50
ADE_100 = {
    'b':
    '1,3,5,6,8-10,12-14,18,19,21-29,31-34,36,38-40,42-49,53-58,60-63,69-71,'
    '74-77,80-82,84,86,87,90,91,93,95,96,99-101,103-107,109,113,116,117,'
    '119-121,123,125,126,128-136,140,142-144,147-150',
    'c':
    '1,5,6,8-14,16,17,19,20,23-37,40,41,43-46,48,50,52,54,56,57,61,63,65-71,'
    '74,76-79,81-87,90,94-99,102,105,106,109-112,114,115,118-121,123,124,126,'
    '128,129,132-136,138,139,142-144,146,147,149',
}
ADE_LAST_50 = {
    'b':
    '2,4,7,11,15-17,20,30,35,37,41,50-52,59,64-68,72,73,78,79,83,85,88,89,92,'
    '94,97,98,102,108,110-112,114,115,118,122,124,127,137-139,141,145,146',
    'c':
    '2-4,7,15,18,21,22,38,39,42,47,49,51,53,55,58-60,62,64,72,73,75,80,88,89,'
    '91-93,100,101,103,104,107,108,113,116,117,122,125,127,130,131,137,140,'
    '141,145,148,150',
}
ADE_TENS = {
    'b': (
        '11,16,50,64,66,73,89,92,145,146',
        '30,37,51,52,72,85,98,114,115,138',
        '2,35,65,97,110-112,118,124,141',
        '4,7,15,41,67,78,79,88,108,139',
        '17,20,59,68,83,94,102,122,127,137',
    ),
    'c': (
        '3,4,7,18,39,64,73,101,113,137',
        '47,51,55,60,62,80,116,127,140,148',
        '22,42,49,58,59,89,91,92,108,125',
        '2,38,53,100,104,117,130,131,141,145',
        '15,21,72,75,88,93,103,107,122,150',
    ),
}
ADE_FIRST_50 = {
    'b':
    '1,9,14,18,22,24,25,27-29,32,38,42,45-49,54,56,58,61-63,69,74-77,81,82,'
    '84,90,93,96,100,103,104,109,117,119,121,123,128-130,134-136,144',
    'c':
    '5,10-13,16,17,19,20,23,27,28,30-33,37,43,46,52,56,57,65,66,69,70,74,76,'
    '77,79,82,83,86,87,105,109-111,119,128,129,132-134,138,142-144,146,147',
}
ADE_SECOND_50 = {
    'b':
    '3,5,6,8,10,12,13,19,21,23,26,31,33,34,36,39,40,43,44,53,55,57,60,70,71,'
    '80,86,87,91,95,99,101,105-107,113,116,120,125,126,131-133,140,142,143,'
    '147-150',
    'c':
    '1,6,8,9,14,24-26,29,34-36,40,41,44,45,48,50,54,61,63,67,68,71,78,81,84,'
    '85,90,94-99,102,106,112,114,115,118,120,121,123,124,126,135,136,139,149',
}

# Tiny ImageNet from easy to hard, as tools/analysis_tools/rank_classes.py
# finds it on the first 100 training images of every class: by how well a
# linear model of patches tells images of a class that it was not fitted to
# from other classes. Ids follow the sorted names of the class folders.
TINY_EASY_FIRST = (
    '103,191,23,81,145,44,1,192,115,133,166,176,45,50,94,187,173,178,0,124,'
    '184,165,78,186,194,116,13,111,193,182,198,118,12,70,91,22,43,61,153,'
    '196,2,58,146,108,177,148,167,21,189,6,55,52,18,101,93,90,68,170,169,'
    '121,57,134,71,37,19,66,82,47,4,14,162,8,126,38,31,17,96,74,183,113,9,'
    '152,155,128,87,60,197,35,39,143,190,117,62,85,140,95,20,171,112,54,34,'
    '154,69,97,25,42,36,98,181,28,157,185,89,129,26,164,179,10,188,86,158,'
    '195,11,92,142,119,46,174,51,107,163,136,199,83,41,7,53,114,104,109,'
    '149,3,63,72,56,132,160,123,138,150,180,73,49,30,5,79,40,16,77,147,24,'
    '29,84,32,110,135,102,33,137,75,127,120,67,161,48,76,15,105,151,59,144,'
    '175,99,65,27,130,156,168,159,122,139,172,141,100,80,106,64,131,125,88')

# Cityscapes: the cities of its training and validation sets
CITIES = ('aachen', 'bremen', 'darmstadt', 'erfurt', 'hanover', 'krefeld',
          'strasbourg', 'tubingen', 'weimar', 'bochum', 'cologne',
          'dusseldorf', 'hamburg', 'jena', 'monchengladbach', 'stuttgart',
          'ulm', 'zurich', 'frankfurt', 'lindau', 'munster')


def parse_ids(text: str) -> tuple[int, ...]:
    """Ids of a compact list such as ``'1,3,5-7'``, in the order written."""
    ids = []
    for part in text.split(','):
        first, _, last = part.partition('-')
        ids.extend(range(int(first), int(last or first) + 1))
    return tuple(ids)


def natural_steps(units: Sequence[int | str], name: str) -> Steps | None:
    """Steps of a name ``A-B``: the first A units, then groups of B.

    Args:
        units: All foreground classes or domains in their natural order.
        name: Such as ``10-1``; ``offline`` is one step of all units.

    Returns:
        tuple | None: The steps, or None where the name has another form or
        its numbers do not fit the number of units.
    """
    units = tuple(units)
    if name == 'offline':
        return (units, )
    match = re.fullmatch(r'(\d+)-(\d+)', name)
    if match is None:
        return None
    base, group = map(int, match.groups())
    rest = len(units) - base
    if base < 1 or group < 1 or rest < group or rest % group:
        return None
    later = (units[i:i + group] for i in range(base, len(units), group))
    return (units[:base], *later)


def split_steps(classes: Sequence[int], name: str) -> Steps | None:
    """Steps of a name ``AxB``: A tasks of B classes each, using up all."""
    match = re.fullmatch(r'(\d+)x(\d+)', name)
    if match is None:
        return None
    tasks, size = map(int, match.groups())
    if tasks * size != len(classes):
        return None
    ids = [int(c) for c in classes]
    return tuple(tuple(ids[t * size:(t + 1) * size]) for t in range(tasks))


def permuted_steps(classes: Sequence[int], name: str) -> Steps | None:
    """Steps of a name that is the number of tasks, with all classes each."""
    if re.fullmatch(r'[1-9]\d*', name) is None or int(name) > MOST_TASKS:
        return None
    return tuple((f'p{t}', ) for t in range(int(name)))


def split_order(order: str, base: int) -> Steps:
    """Steps of a permuted order: ``base`` classes, then one by one."""
    ids = parse_ids(order)
    return (ids[:base], *((c, ) for c in ids[base:]))


def permuted_voc() -> dict[str, Steps]:
    """The permuted orders of VOC, by name."""
    orders = {
        f'15-1{letter}': split_order(order, 15)
        for letter, order in VOC_15_1.items()
    }
    return {'19-1b': split_order('1-4,6-20,5', 19), **orders}


def permuted_ade() -> dict[str, Steps]:
    """The permuted orders of ADE20K, by name."""
    orders = {}
    for letter, base in ADE_100.items():
        last = ADE_LAST_50[letter]
        lists = {
            '100-50': (base, last),
            '100-10': (base, *ADE_TENS[letter]),
            '50-50': (ADE_FIRST_50[letter], ADE_SECOND_50[letter], last),
        }
        for name, texts in lists.items():
            orders[name + letter] = tuple(map(parse_ids, texts))
    return orders
