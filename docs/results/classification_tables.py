"""Tables of the classification pages.

A run of ``records/*.json`` names its benchmark, its method and its strength;
what to type for them stands here once, so that every row has its command.
"""
import statistics
from collections.abc import Callable

from runs import (
    Rows,
    by_mean,
    commands,
    estimate,
    groups,
    read_json,
    table,
)

# Average-APA of the spWC paper, mean and deviation over ten seeds
PAPER = {
    'permuted_mnist': {
        'Finetune': '85.4 ± 1.1', 'EWC': '93.0 ± 0.1',
        'online-EWC': '93.5 ± 0.3', 'LwF': '93.9 ± 0.1', 'SI': '93.6 ± 0.3',
        'MAS': '91.1 ± 0.2', 'BLIP': '93.8 ± 0.1', 'EWC+spWC': '95.1 ± 0.1',
        'MAS+spWC': '94.8 ± 0.1'},
    'tiny_imagenet': {
        'Finetune': '29.6 ± 2.5', 'EWC': '42.9 ± 2.2', 'MAS': '40.3 ± 1.5',
        'EWC+spWC': '46.1 ± 0.3', 'MAS+spWC': '45.7 ± 0.2'}}
ANCHORS = 'method.every.hooks.consolidation.'
# base method: name of its config, key of its strength, more options
METHODS = {
    'Finetune': ('finetune', None, ''),
    'EWC': ('ewc', f'{ANCHORS}strength', f'{ANCHORS}n_samples=1000'),
    'online-EWC': ('ewc', f'{ANCHORS}strength',
                   f'{ANCHORS}n_samples=1000 {ANCHORS}form=online'),
    'MAS': ('mas', f'{ANCHORS}strength', f'{ANCHORS}n_samples=1000'),
    'SI': ('si', f'{ANCHORS}strength', ''),
    'LwF': ('lwf', 'method.later.model.losses.kd.loss_weight', ''),
    'BLIP': ('blip', 'method.every.hooks.bits.prior',
             'method.every.hooks.bits.n_samples=1000'),
}
ALL_KEPT = 'rule=spwc k=30 normalise=sum min_weight=0.2'
PLUS = ('rule=spwc mu=2.0723 relative=True protect_last=True normalise=sum '
        'min_weight=0.1')
HALF = 'rule=spwc age.type=fraction age.f=0.5'
OFTEN = f'{PLUS} update.iters=20'
# form of spWC, as it is written after its base method: self_paced.*
FORMS = {
    '+spWC': HALF,
    '+spWC (protected)':
    'rule=spwc age.type=threshold age.psi_star=0.99 protect_last=True '
    'normalise=sum',
    '+spWC (all kept)': ALL_KEPT,
    '+spWC (relative)': f'{ALL_KEPT} relative=True',
    '+spWC+': OFTEN,
    '+spWC+ (once per task)': PLUS,
    '+spWC+ (shuffled)': f'{OFTEN} control=shuffle',
    '+spWC (hardest quarter)': HALF.replace('0.5', '0.25'),
    '+spWC (hardest three quarters)': HALF.replace('0.5', '0.75'),
    '+spWC (all but ties)': HALF.replace('0.5', '1'),
    '+spWC (hard rule)': HALF.replace('rule=spwc', 'rule=hard'),
    '+spWC (linear rule)': HALF.replace('rule=spwc', 'rule=linear'),
    '+spWC (log rule)':
    HALF.replace('rule=spwc', 'rule=log') + ' eta_scale=14',
    '+spWC+ (age at 80 %)': OFTEN.replace('2.0723', '1.2876'),
    '+spWC+ (age at 95 %)': OFTEN.replace('2.0723', '2.8459'),
    '+spWC+ (every 10 iterations)': OFTEN.replace('=20', '=10'),
    '+spWC+ (hard rule)': OFTEN.replace('rule=spwc', 'rule=hard'),
    '+spWC+ (linear rule)': OFTEN.replace('rule=spwc', 'rule=linear'),
}
FASHION = 'docs/results/configs/permuted_mnist_fashion/{name}.py'
PERMUTED = 'configs/classification/{name}/{name}_mlp_permuted-mnist.py'
NARROW = 'model.backbone.hidden="(200,200)" model.head.in_channels=200'
SMALL = ('model.backbone.hidden="(50,50)" model.head.in_channels=50 '
         'total_batch_size=32 train_cfg.max_epochs=1 '
         'optim_wrapper.optimizer.lr=0.03')


def limits(train: int, test: int, parts: int = 0) -> str:
    """Options for so many images of each dataset."""
    places = [f'datasets.{part}.' for part in range(parts)] or ['']
    return ' '.join(
        f'{role}_dataloader.dataset.{place}limit={number}'
        for role, number in (('train', train), ('test', test))
        for place in places)


# page and benchmark: config of a method, options
BENCHMARKS = {
    ('permuted_mnist_fashion', 'turns'):
    (FASHION, f'{NARROW} heldout.ratio=0.1 {limits(10000, 1500, 2)}'),
    ('permuted_mnist_fashion', 'small'):
    (FASHION, f'{SMALL} {limits(2500, 1500, 2)}'),
    ('permuted_mnist', 'limited'):
    (PERMUTED, f'{NARROW} heldout.ratio=0.1 {limits(10000, 1500)}'),
    ('permuted_mnist', 'small'): (PERMUTED, f'{SMALL} {limits(2500, 1500)}'),
    ('permuted_mnist', 'small, noise'):
    (PERMUTED, f'{SMALL} {limits(2500, 1500)} scenario.noise=0.9'),
    ('tiny_imagenet', 'part'):
    ('docs/results/configs/tiny_imagenet/{name}.py', ''),
}


def command(page: str, run: dict) -> str:
    """What to type for a run."""
    if 'leaf' in run:
        return (f'python tools/train.py configs/{run["leaf"]} --cfg-options '
                f'randomness.seed={run["seed"]}')
    config, limited = BENCHMARKS[page, run['benchmark']]
    base, plus, form = run['method'].partition('+')
    name, key, more = METHODS[base]
    options = [f'randomness.seed={run["seed"]}', limited]
    if key:
        options.append(f'{key}={run["strength"]:g}')
    options.append(more)
    if form and base == 'MAS':  # an anchor for each task to weight
        options.append(f'{ANCHORS}form=per_step')
    if form:
        options += [f'self_paced.{x}' for x in FORMS[plus + form].split()]
    return (f'python tools/train.py {config.format(name=name)} --cfg-options '
            + ' '.join(filter(None, options)))


def chosen(page: str, benchmark: str, kind: str) -> Rows:
    return [run for run in read_json(page)
            if run['benchmark'] == benchmark and run['kind'] == kind]


def base_of(method: str) -> str:
    """The method that another is a form of."""
    return method.partition('+')[0].removeprefix('online-')


def gain(runs: Rows, others: Rows, score: str) -> str:
    """Mean difference to runs of the same seeds."""
    by_seed = {run['seed']: run[score] for run in others}
    text = estimate((run[score] - by_seed[run['seed']] for run in runs
                     if run['seed'] in by_seed), 2)
    return text if text.startswith('-') else f'+{text}'


def report(page: str, benchmark: str, paper: dict | None = None) -> str:
    """Methods on fresh seeds, beside the base method they build on."""
    found = groups(chosen(page, benchmark, 'report'), 'method')
    body, lines = [], []
    for (name, ), runs in sorted(found.items(), key=by_mean('average_apa')):
        base = found.get((base_of(name), ), runs)
        size, strength = runs[0]['ps_active'], runs[0]['strength']
        row = [name, '' if strength is None else f'{strength:g}', len(runs)]
        for score in ('average_apa', 'final_accuracy'):
            row += [estimate((run[score] for run in runs), 2),
                    '' if base is runs else gain(runs, base, score)]
        row += [estimate((run[score] for run in runs), 2)
                for score in ('forgetting', 'learning_accuracy')]
        body.append([*row, f'{size:.2f}' if size else '',
                     *([paper.get(name, '')] if paper else [])])
        lines.append(command(page, runs[0]))
    head = ['method', 'strength', 'seeds', 'Average-APA', 'gain', 'final',
            'gain', 'forgetting', 'learning', 'PS']
    if paper:
        head.append("paper's Average-APA")
    return table(head, body) + commands(lines)


def sweep(page: str, benchmark: str, kind: str = 'tune',
          score: str = 'heldout_apa') -> str:
    """A score by strength, methods with one scale of strengths together."""
    found = groups(chosen(page, benchmark, kind), 'method')
    text, lines, scales = '', [], {}
    for (name, ), runs in found.items():
        scales.setdefault(base_of(name), {})[name] = runs
    for methods in scales.values():
        strengths = sorted({run['strength'] for runs in methods.values()
                            for run in runs})
        body = []
        for name, runs in methods.items():
            at = groups(runs, 'strength')
            body.append([name, *(
                estimate((run[score] for run in at.get((s, ), [])), 2)
                for s in strengths)])
            lines.append(command(page, runs[0]))
        head = ['method, strength', *(f'{s:g}' for s in strengths)]
        text += table(head, body) + '\n'
    return text.rstrip('\n') + '\n' + commands(lines)


def permuted_mnist() -> str:
    """Every method at full size."""
    columns = ('average_apa', 'average_acf', 'final_accuracy', 'forgetting',
               'learning_accuracy')
    found = groups(chosen('permuted_mnist', 'full', 'report'), 'method')
    body, lines = [], []
    for (name, ), runs in sorted(found.items(), key=by_mean('average_apa')):
        size = runs[0]['ps_active']
        body.append([
            name, len(runs), *(estimate(r[c] for r in runs) for c in columns),
            f'{size:.2f}' if size else '',
            PAPER['permuted_mnist'].get(name, '')])
        lines += [command('permuted_mnist', run)
                  for run in sorted(runs, key=lambda r: r['seed'])]
    head = ['method', 'seeds', 'Average-APA', 'Average-ACF', 'final',
            'forgetting', 'learning', 'PS', "paper's Average-APA"]
    return table(head, body) + commands(lines)


def ablation() -> str:
    """Regulariser, age and share of tasks, against EWC, held-out images."""
    page, at = 'permuted_mnist_fashion', 30.
    tuned = [run for run in chosen(page, 'small', 'tune')
             if run['strength'] == at]
    found = groups(tuned + chosen(page, 'small', 'ablation'), 'method')
    names = ['EWC', *(f'EWC{form}' for form in FORMS)]
    body, lines = [], []
    for name in names:
        runs = found.get((name, ))
        if runs:
            body.append([
                name, estimate((r['heldout_apa'] for r in runs), 2),
                '' if name == 'EWC' else gain(
                    runs, found['EWC', ], 'heldout_apa'),
                f'{statistics.fmean(r["ps_active"] for r in runs):.2f}'])
            lines.append(command(page, runs[0]))
    return table(['method', 'held-out APA', 'gain', 'PS'],
                 body) + commands(lines)


TABLES: dict[str, dict[str, Callable[[], str]]] = {
    'appendix/permuted_mnist': {
        'methods': permuted_mnist,
        'sweep': lambda: sweep(
            'permuted_mnist', 'limited', 'sweep', 'average_apa'),
        'small-sweep': lambda: sweep('permuted_mnist', 'small'),
        'small': lambda: report('permuted_mnist', 'small'),
        'noise-sweep': lambda: sweep('permuted_mnist', 'small, noise'),
        'noise': lambda: report('permuted_mnist', 'small, noise')},
    'appendix/permuted_mnist_fashion': {
        'sweep': lambda: sweep('permuted_mnist_fashion', 'turns'),
        'report': lambda: report('permuted_mnist_fashion', 'turns'),
        'small-sweep': lambda: sweep('permuted_mnist_fashion', 'small'),
        'small': lambda: report('permuted_mnist_fashion', 'small'),
        'ablation': ablation},
    'appendix/tiny_imagenet': {
        'sweep': lambda: sweep('tiny_imagenet', 'part'),
        'report': lambda: report(
            'tiny_imagenet', 'part', PAPER['tiny_imagenet'])},
}
