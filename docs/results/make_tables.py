"""Write every table and figure of docs/results from the runs kept here.

    python docs/results/make_tables.py            # tables
    python docs/results/make_tables.py --figures  # and the figures (SVG)

A table stands in a page between ``<!-- table NAME -->`` and
``<!-- end -->``; what is between them is replaced. The runs are in
``*.csv``, one row a run or step, and in ``records/*.json``, with the options
of each run and its scores. An error is the standard error of the mean.
"""
import csv
import json
import re
import statistics
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

HERE = Path(__file__).resolve().parent
BLOCK = re.compile(r'(<!-- table ([\w-]+) -->\n).*?(<!-- end -->)', re.S)
Rows = list[dict]


def read_csv(name: str) -> Rows:
    """Rows of a CSV file, empty cells as None."""
    with (HERE / f'{name}.csv').open(newline='') as file:
        return [{k: v or None for k, v in row.items()}
                for row in csv.DictReader(file)]


def read_json(name: str) -> Rows:
    return json.loads((HERE / 'records' / f'{name}.json').read_text())


def groups(rows: Rows, *keys: str) -> dict[tuple, Rows]:
    """Rows of equal keys, in the order of their first appearance."""
    found: dict[tuple, Rows] = {}
    for row in rows:
        found.setdefault(tuple(row[k] for k in keys), []).append(row)
    return found


def estimate(values: Iterable, digits: int = 1) -> str:
    """Mean ± standard error in percent, ``-`` for what is not known."""
    values = [100 * float(v) for v in values if v is not None]
    if not values:
        return '-'
    text = f'{statistics.fmean(values):.{digits}f}'
    if len(values) > 1:
        error = statistics.stdev(values) / len(values)**.5
        text += f' ± {error:.{digits}f}'
    return text


def mean_of(scores: Iterable) -> float | None:
    known = [s for s in scores if s is not None]
    return statistics.fmean(known) if known else None


def table(head: list, body: Iterable[list]) -> str:
    lines = [head, ['---'] * len(head), *body]
    return ''.join('| ' + ' | '.join(map(str, x)) + ' |\n' for x in lines)


def commands(lines: Iterable[str]) -> str:
    """What runs each row, folded away below the table."""
    listed = '\n'.join(lines)
    return ('\n<details><summary>Commands</summary>\n<pre>\n'
            f'{listed}\n</pre>\n</details>\n')


def by_mean(key: str) -> Callable:
    """Sort key: groups with the highest mean first."""
    return lambda item: -statistics.fmean(float(r[key]) for r in item[1])


# generated shapes

SHAPES = ('base', 'new', 'all', 'average', 'background', 'heldout')


def shapes(chosen: dict) -> str:
    chosen = sorted(chosen.items(), key=by_mean('all'))
    body = [[name[0], *(estimate(r[c] for r in rows) for c in SHAPES)]
            for name, rows in chosen]
    lines = [
        f'python tools/train.py configs/{row["leaf"]} --cfg-options '
        f'randomness.seed={row["seed"]} '
        'start_from=work_dirs/finetune/step_00/final.pth'
        for _, rows in chosen for row in rows if row['leaf']]
    return table(['method', *SHAPES[:-1], 'held-out'], body) + commands(lines)


def shapes_seeds() -> str:
    found = groups(read_csv('shapes'), 'method')
    return shapes({k: rows for k, rows in found.items() if len(rows) > 1})


def shapes_all() -> str:
    rows = [r for r in read_csv('shapes') if r['seed'] == '0']
    return shapes(groups(rows, 'method'))


# Permuted-MNIST

# Average-APA of the spWC paper, mean and deviation over ten seeds
PAPER_APA = {
    'Finetune': '85.4 ± 1.1', 'EWC': '93.0 ± 0.1', 'online-EWC': '93.5 ± 0.3',
    'LwF': '93.9 ± 0.1', 'SI': '93.6 ± 0.3', 'MAS': '91.1 ± 0.2',
    'BLIP': '93.8 ± 0.1', 'EWC+spWC': '95.1 ± 0.1',
    'MAS+spWC': '94.8 ± 0.1'}


def permuted_mnist() -> str:
    columns = ('average_apa', 'average_acf', 'final_accuracy', 'forgetting',
               'learning_accuracy')
    found = groups(read_csv('permuted_mnist'), 'method')
    body, lines = [], []
    for (name, ), rows in sorted(found.items(), key=by_mean('average_apa')):
        size = rows[0]['ps_active']
        body.append([
            name, len(rows), *(estimate(r[c] for r in rows) for c in columns),
            f'{float(size):.2f}' if size else '', PAPER_APA.get(name, '')])
        lines += [
            f'python tools/train.py configs/{row["leaf"]} '
            f'--cfg-options randomness.seed={row["seed"]}'
            for row in sorted(rows, key=lambda r: r['seed']) if row['leaf']]
    head = ['method', 'seeds', 'Average-APA', 'Average-ACF', 'final',
            'forgetting', 'learning', 'PS', "paper's Average-APA"]
    return table(head, body) + commands(lines)


# VOC at 128 px, published order, one seed

def voc128_last() -> str:
    rows = [r for r in read_csv('voc128') if r['step'] == '5']
    columns = ('base', 'new', 'all', 'background', 'heldout')
    body = [[r['method'], r['kd'] or '-', r['later_lr'],
             *(estimate([r[c]]) for c in columns)]
            for r in sorted(rows, key=lambda r: -float(r['all']))]
    head = ['method', 'kd', 'lr', *columns[:-1], 'held-out']
    return table(head, body) + commands(map(voc128_command, rows))


def voc128_command(row: dict) -> str:
    name = row['method'].lower()
    later = 'method.later.'
    options = ['randomness.seed=0',
               'start_from=work_dirs/finetune/step_00/final.pth',
               f'schedule.later.optim_wrapper.optimizer.lr={row["later_lr"]}']
    if row['kd']:
        options.append(f'{later}model.losses.kd.loss_weight={row["kd"]}')
    if name == 'rcil':  # as the leaf was then
        options += [
            f'{later}model.frozen_norm=None',
            f'{later}hooks.transition.classifier_init=balanced',
            f'{later}hooks.transition.share=None',
            f'{later}optim_wrapper.paramwise_cfg=None']
    return (f'python tools/train.py configs/{name}/{name}_deeplabv3-'
            'mobilenetv2-d16_voc12aug-128x128.py --cfg-options '
            + ' '.join(options))


def voc128_steps() -> str:
    found = groups(read_csv('voc128'), 'method', 'kd', 'later_lr')
    body = [[name, kd or '-', lr, *(
        f'{estimate([r["all"]])} ({estimate([r["background"]])})'
        for r in rows)] for (name, kd, lr), rows in sorted(
            found.items(), key=lambda item: -float(item[1][-1]['all']))]
    return table(['method', 'kd', 'lr', *range(6)], body)


# VOC at 128 px, full network, the trials with small-step settings

def voc128_full() -> str:
    body, lines = [], []
    for (name, ), rows in groups(read_json('voc128_full'), 'variant').items():
        by_seed = ', '.join(
            f'{100 * r["all"]:.1f}' for r in sorted(
                rows, key=lambda r: r['seed']))
        seeds = ' '.join(str(s) for s in sorted(r['seed'] for r in rows))
        body.append([name, seeds, *(
            estimate(r[c] for r in rows)
            for c in ('base', 'new', 'all', 'pixel_accuracy')), by_seed])
        lines.append(f'# {name}')
        lines.append(rows[0]['command'])
    head = ['variant', 'seeds', 'base', 'new', 'all', 'pixel accuracy',
            '`all` by seed']
    return table(head, body) + commands(lines)


# VOC at 128 px, features of step 0 kept, only the classifiers train

BASE = 16  # channels of step 0


def small_steps_row(rows: Rows, part: str) -> list:
    scores = [r[part] if part == 'test' else r['heldout'][-1] for r in rows]
    base = [mean_of(s[:BASE]) for s in scores]
    new = [mean_of(s[BASE:]) for s in scores]
    everything = [mean_of(s) for s in scores]
    return [estimate(v) for v in (base, new, everything,
                                  [s[0] for s in scores])]


def small_steps(kind: str, part: str) -> str:
    rows = [r for r in read_json('small_steps') if r['table'] == kind]
    body, lines = [], []
    reference = {r['seed']: mean_of(_last(r, part)) for r in rows
                 if r['variant'] == rows[0]['variant']}
    for (name, ), runs in groups(rows, 'variant').items():
        gain = [mean_of(_last(r, part)) - reference[r['seed']]
                for r in runs if r['seed'] in reference]
        ahead = sum(g > 0 for g in gain)
        same = name == rows[0]['variant']
        body.append([name, len(runs), *small_steps_row(runs, part),
                     '' if same else estimate(gain, 2),
                     '' if same else f'{ahead} of {len(gain)}'])
        lines.append(small_steps_command(runs))
    head = ['variant', 'seeds', 'base', 'new', 'all', 'background',
            'gain in `all`', 'seeds ahead']
    return table(head, body) + commands(lines)


def _last(run: dict, part: str) -> list:
    return run['test'] if part == 'test' else run['heldout'][-1]


def small_steps_command(runs: Rows) -> str:
    def given(options: dict) -> str:
        return ' '.join(f'{k}={v}' for k, v in options.items())

    seeds = ' '.join(str(r['seed']) for r in runs)
    line = ('python tools/analysis_tools/small_steps.py run features.pt '
            f'--seeds {seeds}')
    if runs[0]['options']:
        line += f' --options {given(runs[0]["options"])}'
    if runs[0]['self_paced']:
        line += f' --self-paced {given(runs[0]["self_paced"])}'
    return line


# permutations of MNIST and Fashion-MNIST in turn

def fashion(kind: str) -> str:
    rows = [r for r in read_json('permuted_mnist_fashion')
            if r['kind'] == kind]
    body, lines = [], []
    columns = ('heldout_apa', 'average_apa', 'final_accuracy', 'forgetting',
               'learning_accuracy')
    for (name, strength), runs in sorted(
            groups(rows, 'method', 'strength').items(),
            key=by_mean('heldout_apa')):
        size = runs[0]['ps_active']
        body.append([name, strength, len(runs), *(
            estimate((r[c] for r in runs), 2) for c in columns),
            f'{size:.2f}' if size else ''])
        lines += [runs[0]['command']]
    head = ['method', 'strength', 'seeds', 'held-out APA', 'Average-APA',
            'final', 'forgetting', 'learning', 'PS']
    return table(head, body) + commands(lines)


def fashion_sweep() -> str:
    rows = [r for r in read_json('permuted_mnist_fashion')
            if r['kind'] == 'tune' and r['strength'] is not None]
    strengths = sorted({r['strength'] for r in rows
                        if r['method'].startswith('EWC')})
    body = []
    for (name, ), runs in groups(rows, 'method').items():
        if not name.startswith('EWC'):
            continue
        found = {r['strength']: r['heldout_apa'] for r in runs}
        body.append([name, *(
            estimate([found.get(s)], 2) for s in strengths)])
    return table(['method', *(f'{s:g}' for s in strengths)], body)


TABLES: dict[str, dict[str, Callable[[], str]]] = {
    'shapes': {'seeds': shapes_seeds, 'all': shapes_all},
    'permuted_mnist': {'methods': permuted_mnist},
    'permuted_mnist_fashion': {
        'report': lambda: fashion('report'), 'sweep': fashion_sweep},
    'voc128': {
        'last': voc128_last, 'steps': voc128_steps, 'full': voc128_full,
        'starts': lambda: small_steps('starts', 'heldout'),
        'choice': lambda: small_steps('choice', 'heldout'),
        'report': lambda: small_steps('report', 'test'),
        'report-share': lambda: small_steps('reportP', 'test')},
}


def written(page: str) -> str:
    """A page with its tables made anew."""
    text = (HERE / f'{page}.md').read_text()
    makers, seen = TABLES[page], []

    def make(match: re.Match) -> str:
        seen.append(match[2])
        return f'{match[1]}{makers[match[2]]()}{match[3]}'

    text = BLOCK.sub(make, text)
    missing = set(makers) - set(seen)
    if missing:
        raise ValueError(f'{page}.md has no place for {sorted(missing)}.')
    return text


def main() -> None:
    for page in TABLES:
        (HERE / f'{page}.md').write_text(written(page))
    if '--figures' in sys.argv[1:]:
        sys.path.insert(0, str(HERE))
        import make_figures
        make_figures.main()


if __name__ == '__main__':
    main()
