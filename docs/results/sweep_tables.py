"""Tables of sweeps: what was published beside what was measured here.

``records/sweeps/NAME.json`` is the ``sweep.json`` that the sweep of
``configs/sweeps/`` left.
"""
import json
from collections.abc import Callable

from runs import HERE, Rows, estimate, groups, table

LABELS = dict(
    finetune='Finetune', joint='Joint', ewc='EWC', online_ewc='online-EWC',
    ewc_mib="EWC (MiB's)", lwf='LwF', lwf_mc='LwF-MC', si='SI', mas='MAS',
    blip='BLIP', ilt='ILT', mib='MiB', plop='PLOP', alife='ALIFE',
    alife_m='ALIFE-M', rcil='RCIL', rcil_spwc="RCIL+spWC, the paper's rule",
    rcil_spwc_keep='RCIL+spWC, background kept',
    rcil_spwc_authors="RCIL+spWC, the authors' code", ewc_spwc='EWC+spWC',
    mas_spwc='MAS+spWC', ewc_spwc_plus='EWC+spWC+', dft='DFT*', dkd='DKD',
    dkd_m='DKD-M', ssul='SSUL', ssul_m='SSUL-M', ucd='UCD',
    mib_ewf='MiB+EWF', mib_ewf_fisher='MiB+EWF, shares by Fisher',
    mib_ewf_spwc='MiB+EWF, shares by spWC', mib_lgkd='MiB+LGKD',
    mib_nest='MiB+NeST',
    plop_ewf='PLOP+EWF', lgkd='PLOP+LGKD', reminder='REMINDER',
    rcil_ewf='RCIL+EWF', finetune_memory='Finetune + memory',
    mib_augm='MiB-AugM', mib_augm_spwc='MiB-AugM, drawn by spWC', sdr='SDR')


def read(name: str) -> dict:
    """A sweep with the finished runs of every method's best setting."""
    path = HERE / 'records/sweeps' / f'{name}.json'
    sweep = json.loads(path.read_text())
    best = {s['name'] for s in sweep['settings'] if s['best']}
    found: dict[str, Rows] = {}
    for run in sweep['runs']:
        if run['finished'] and run['group'] in best:
            found.setdefault(run['method'], []).append(run)
    return dict(runs=found, paper=(sweep['paper'] or {}).get('scores', {}),
                name=sweep['name'])


def label(method: str) -> str:
    if method.startswith('k_'):
        return f'k = {method[2:]}'
    return LABELS.get(method, method)


def beside(name: str, keys: dict, more: dict, digits: int = 1) -> str:
    """One row a method, the best first: ours, the published and the gap.

    Args:
        name (str): Name of the record.
        keys (dict): Headings of the published scores, by score.
        more (dict): Headings of scores that were not published.
        digits (int): Decimals of the scores.
    """
    sweep = read(name)
    head, body = ['method', 'seeds'], []
    for heading in keys.values():
        head += [heading, 'published', 'difference']
    for method, runs in sorted(sweep['runs'].items(), key=by_score(keys)):
        row = [label(method), len(runs)]
        for key in keys:
            value = sweep['paper'].get(method, {}).get(key)
            row += [estimate(scores(runs, key), digits), *published(
                value, scores(runs, key))]
        body.append(row + [
            estimate(scores(runs, key), digits) for key in more])
    return table([*head, *more.values()], body)


def scores(runs: Rows, key: str) -> list:
    return [run['scores'].get(key) for run in runs]


def by_score(keys: dict) -> Callable:
    first = next(iter(keys))

    def rank(item: tuple) -> float:
        known = [s for s in scores(item[1], first) if s is not None]
        return -sum(known) / len(known)

    return rank


def published(value: object, ours: list) -> tuple[str, str]:
    """A number or mean and deviation in percent, and what ours is above."""
    if value is None:
        return '', ''
    mean, *rest = value if isinstance(value, list) else [value]
    text = ' ± '.join(f'{v:.1f}' for v in (mean, *rest))
    return text, f'{100 * sum(ours) / len(ours) - mean:+.1f}'


def classes(name: str, number: int = 21) -> str:
    """IoU of every class, ours above the published row, folded away."""
    sweep = read(name)
    keys = [f'class_{c}' for c in range(number)]
    body = []
    ranked = sorted(sweep['runs'].items(), key=by_score(dict(all='')))
    for method, runs in ranked:
        body.append([label(method), *(
            estimate(scores(runs, key)).partition(' ')[0] for key in keys)])
        row = sweep['paper'].get(method)
        if row:
            body.append(['published', *(f'{row[key]:.1f}' for key in keys)])
    return ('\n<details><summary>IoU of every class</summary>\n\n' + table(
        ['method', *range(number)], body) + '\n</details>\n')


def search(name: str) -> str:
    """Held-out scores of the strengths that were tried, the best in bold."""
    path = HERE / 'records/sweeps' / f'{name}.json'
    found = groups(json.loads(path.read_text())['runs'], 'method')
    body = []
    for (method, ), runs in found.items():
        best = max(runs, key=lambda run: run['held_out'])
        cells = [
            f'{score} ({run["strength"]:g})' if run['strength'] else score
            for run in runs for score in [
                f'**{estimate([run["held_out"]])}**' if run is best
                else estimate([run['held_out']])]]
        body.append([label(method), *cells, *[''] * (3 - len(cells))])
    return table(['method', 'held-out mIoU (strength)', '', ''], body)


def readme() -> str:
    """The main score of two tables of the paper, here and published."""
    text = []
    for name, key, title in (
            ('voc_10_1_overlapped', 'all', 'VOC 10-1, mIoU'),
            ('cifar100', 'average_apa', 'CIFAR-100, Average-APA')):
        sweep = read(name)
        methods = [m for m in LABELS if m in sweep['paper']]
        here = {m: scores(sweep['runs'][m], key) for m in methods}
        text.append(table(
            [title, *(label(m).partition(',')[0] for m in methods)],
            [['here', *(estimate(here[m]) for m in methods)],
             ['published', *(published(
                 sweep['paper'][m][key], here[m])[0].partition(' ')[0]
                 for m in methods)]]))
    return '\n'.join(text)


SEGMENTATION = dict(base='base', new='new', class_0='background',
                    average_miou='mean over steps')
CLASSIFICATION = dict(final_accuracy='final', forgetting='forgetting')
APA = dict(average_apa='Average-APA', average_acf='Average-ACF')


def voc(name: str) -> Callable:
    return lambda: beside(name, dict(all='all'), SEGMENTATION) + classes(name)


def tasks(name: str) -> Callable:
    return lambda: beside(name, APA, CLASSIFICATION)


TABLES: dict[str, dict[str, Callable[[], str]]] = {
    'voc_10_1': {
        'overlapped': voc('voc_10_1_overlapped'),
        'k': lambda: beside('k', dict(all='all'), SEGMENTATION),
        'search': lambda: search('voc_10_1_search')},
    'cifar100': {'cifar100': tasks('cifar100')},
    '../../README': {'results': readme},
}
