"""Write every table and figure of docs/results from the runs kept here.

    python docs/results/make_tables.py            # tables
    python docs/results/make_tables.py --figures  # and the figures (SVG)

A table stands in a page between ``<!-- table NAME -->`` and
``<!-- end -->``; what is between them is replaced. The runs are in
``*.csv``, one row a run or step, and in ``records/``, with the options of each
run and its scores. An error is the standard error of the mean.
"""
import re
import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import classification_tables  # noqa: E402
import sweep_tables  # noqa: E402
from runs import (  # noqa: E402
    HERE,
    Rows,
    by_mean,
    commands,
    estimate,
    groups,
    mean_of,
    read_csv,
    read_json,
    table,
)

BLOCK = re.compile(r'(<!-- table ([\w-]+) -->\n).*?(<!-- end -->)', re.S)


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
    config = 'docs/results/configs/voc128/published.py' if name == 'rcil' \
        else (f'configs/{name}/{name}_deeplabv3-mobilenetv2-d16_'
              'voc12aug-128x128.py')
    options = ['randomness.seed=0',
               'start_from=work_dirs/finetune/step_00/final.pth',
               f'schedule.later.optim_wrapper.optimizer.lr={row["later_lr"]}']
    if row['kd']:
        options.append(
            f'method.later.model.losses.kd.loss_weight={row["kd"]}')
    return f'python tools/train.py {config} --cfg-options ' + ' '.join(options)


def voc128_steps() -> str:
    found = groups(read_csv('voc128'), 'method', 'kd', 'later_lr')
    body = [[name, kd or '-', lr, *(
        f'{estimate([r["all"]])} ({estimate([r["background"]])})'
        for r in rows)] for (name, kd, lr), rows in sorted(
            found.items(), key=lambda item: -float(item[1][-1]['all']))]
    return table(['method', 'kd', 'lr', *range(6)], body)


# VOC at 128 px, whole network, with the small-step settings

def voc128_full(kind: str, reference: str | None = None) -> str:
    """Test scores after the last step; gains are over ``reference``."""
    rows = [r for r in read_json('voc128_full') if r['table'] == kind]
    body, lines = [], []
    base = {r['seed']: r['all'] for r in rows if r['variant'] == reference}
    for (name, ), runs in groups(rows, 'variant').items():
        runs = sorted(runs, key=lambda r: r['seed'])
        seeds = ' '.join(str(r['seed']) for r in runs)
        found = [] if name == reference or 'Joint' in name else [
            r['all'] - base[r['seed']] for r in runs if r['seed'] in base]
        body.append([name, seeds, *(
            estimate(r[c] for r in runs)
            for c in ('base', 'new', 'all', 'background', 'pixel_accuracy')),
            *(gain(found) if base else [])])
        lines += [f'# {name}', runs[0]['command']]
    head = ['variant', 'seeds', 'base', 'new', 'all', 'background',
            'pixel accuracy']
    if base:
        head += ['gain in `all`', 'seeds ahead']
    return table(head, body) + commands(lines)


def voc128_heldout(kind: str) -> str:
    """Held-out scores after the last step, to choose by."""
    rows = [r for r in read_json('voc128_full') if r['table'] == kind]
    body = [[r['variant'], *small_steps_row([dict(
        heldout=r['heldout_by_step'])], 'heldout')] for r in rows]
    lines = [line for r in rows
             for line in (f'# {r["variant"]}', r['command'])]
    return table(['variant', 'base', 'new', 'all', 'background'],
                 body) + commands(lines)


def gain(found: list) -> list:
    """Cells with the mean gain, and in how many seeds there is one."""
    if not found:
        return ['', '']
    return [estimate(found, 2), f'{sum(g > 0 for g in found)} of {len(found)}']


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
        found = [] if name == rows[0]['variant'] else [
            mean_of(_last(r, part)) - reference[r['seed']]
            for r in runs if r['seed'] in reference]
        body.append([
            name, len(runs), *small_steps_row(runs, part), *gain(found)])
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
    features = 'features-fl.pt' if runs[0]['table'].startswith(
        'fl-') else 'features.pt'
    line = (f'python tools/analysis_tools/small_steps.py run {features} '
            f'--seeds {seeds}')
    if runs[0]['options']:
        line += f' --options {given(runs[0]["options"])}'
    if runs[0]['self_paced']:
        line += f' --self-paced {given(runs[0]["self_paced"])}'
    return line


TABLES: dict[str, dict[str, Callable[[], str]]] = {
    **sweep_tables.TABLES,
    **classification_tables.TABLES,
    'appendix/shapes': {'seeds': shapes_seeds, 'all': shapes_all},
    'appendix/voc128': {
        'last': voc128_last, 'steps': voc128_steps,
        'trials': lambda: voc128_full('trials', 'P'),
        'published': lambda: voc128_full('published', 'P'),
        'whole-choice': lambda: voc128_heldout('whole-choice'),
        'whole': lambda: voc128_full('whole', 'RCIL'),
        'frequent-last': lambda: voc128_full('frequent-last'),
        'starts': lambda: small_steps('starts', 'heldout'),
        'rates': lambda: small_steps('rates', 'heldout'),
        'rates-report': lambda: small_steps('rates-report', 'test'),
        'choice': lambda: small_steps('choice', 'heldout'),
        'report': lambda: small_steps('report', 'test'),
        'report-share': lambda: small_steps('reportP', 'test'),
        'fl-starts': lambda: small_steps('fl-starts', 'heldout'),
        'fl-report': lambda: small_steps('fl-report', 'test'),
        'fl-report-share': lambda: small_steps('fl-reportP', 'test')},
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
        import make_figures
        make_figures.main()


if __name__ == '__main__':
    main()
