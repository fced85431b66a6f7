"""The figures of docs/results, from the same runs as the tables."""
import statistics
from collections.abc import Iterable

import matplotlib
from classification_tables import FORMS, chosen
from make_tables import BASE
from runs import HERE, groups, mean_of, read_csv, read_json

matplotlib.use('svg')
import matplotlib.pyplot as plt  # noqa: E402

plt.rcParams.update(
    {'svg.hashsalt': 'spwc', 'svg.fonttype': 'none', 'font.size': 9})
FOLDER = HERE / 'figures'


def save(figure, name: str) -> None:
    FOLDER.mkdir(exist_ok=True)
    figure.tight_layout()
    figure.savefig(FOLDER / f'{name}.svg', metadata={'Date': None})
    plt.close(figure)


def by_step() -> None:
    """mIoU and background IoU by step, full network and classifiers only."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3))
    for (name, kd, lr), rows in groups(
            read_csv('voc128'), 'method', 'kd', 'later_lr').items():
        if lr == '0.002':
            label = f'{name}, kd {kd}' if kd else name
            steps = range(len(rows))
            left.plot(steps, [100 * float(r['all']) for r in rows],
                      label=label)
            right.plot(steps, [100 * float(r['background']) for r in rows])
    left.set(xlabel='step', ylabel='mIoU (%)')
    right.set(xlabel='step', ylabel='IoU of the background (%)')
    left.legend(fontsize=7)
    save(figure, 'voc128_by_step')


def starts() -> None:
    """Background and all classes by step, for each start of new classes."""
    rows = [dict(r, label=r['variant'], by_step=r['heldout'])
            for r in read_json('small_steps') if r['table'] == 'starts']
    held_out(rows, 'small_steps_by_step')


def whole_network() -> None:
    """The same for the whole network; P as it was before."""
    rows = [dict(r, label=r['variant'], by_step=r['heldout_by_step'])
            for r in read_json('voc128_full')
            if r['table'] == 'whole' and 'Joint' not in r['variant']
            or r['table'] == 'published' and r['variant'] == 'P']
    held_out(rows, 'voc128_small_steps_by_step')


def held_out(rows: list, name: str) -> None:
    """Background and all classes by step; a line is the mean of a label."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3))
    for (label, ), runs in groups(rows, 'label').items():
        steps = range(len(runs[0]['by_step']))

        def mean(score, runs=runs, steps=steps):
            return [100 * statistics.fmean(
                score(r['by_step'][s]) for r in runs) for s in steps]

        left.plot(steps, mean(lambda s: s[0]), label=label)
        right.plot(steps, mean(mean_of))
    left.set(xlabel='step', ylabel='IoU of the background (%)')
    right.set(xlabel='step', ylabel='mIoU (%)')
    left.legend(fontsize=6)
    save(figure, name)


def k_ablation() -> None:
    """What k, and where the weights act, change."""
    rows = [r for r in read_json('small_steps') if r['table'] == 'choice']
    names, base, new = [], [], []
    for (name, ), runs in groups(rows, 'variant').items():
        last = [r['heldout'][-1] for r in runs]
        names.append(name)
        base.append(100 * statistics.fmean(mean_of(s[:BASE]) for s in last))
        new.append(100 * statistics.fmean(mean_of(s[BASE:]) for s in last))
    figure, axes = plt.subplots(figsize=(7, 0.3 * len(names) + 1))
    places = range(len(names))
    axes.barh([p + .2 for p in places], base, .4, label='base')
    axes.barh([p - .2 for p in places], new, .4, label='new')
    axes.set_yticks(list(places), names)
    axes.invert_yaxis()
    axes.set(xlabel='mIoU on held-out images (%)')
    axes.legend(fontsize=7)
    save(figure, 'small_steps_ablation')


def sweep() -> None:
    """Accuracy by strength, with the standard error over seeds."""
    figure, panels = plt.subplots(1, 2, figsize=(8, 3))
    both = (
        ('Permuted-MNIST, test', 'average_apa',
         chosen('permuted_mnist', 'limited', 'sweep')),
        ('in turn, small, held-out', 'heldout_apa', [
            run for run in chosen('permuted_mnist_fashion', 'small', 'tune')
            if '(shuffled)' not in run['method']]))
    for axes, (title, score, rows) in zip(panels, both, strict=True):
        for (name, ), runs in groups(rows, 'method').items():
            points = [
                (s, *spread(r[score] for r in at))
                for (s, ), at in sorted(groups(runs, 'strength').items())]
            axes.errorbar(*zip(*points, strict=True), fmt='o-', label=name,
                          markersize=3, capsize=2)
        axes.set(xscale='log', xlabel='strength', title=title,
                 ylabel='Average-APA (%)')
        axes.legend(fontsize=6)
    save(figure, 'strength_sweep')


def spread(scores: Iterable[float]) -> tuple[float, float]:
    """Mean and standard error in percent."""
    scores = [100 * s for s in scores]
    error = statistics.stdev(scores) if len(scores) > 1 else 0.
    return statistics.fmean(scores), error / len(scores)**.5


def forms() -> None:
    """PS and held-out accuracy of the forms of spWC, gains over EWC."""
    page = 'permuted_mnist_fashion'
    rows = [run for run in chosen(page, 'small', 'tune')
            if run['strength'] == 30] + chosen(page, 'small', 'ablation')
    found = groups(rows, 'method')
    base = {r['seed']: r['heldout_apa'] for r in found['EWC', ]}
    names = [form for form in FORMS if (f'EWC{form}', ) in found]
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(8, 0.25 * len(names) + 1), sharey=True)
    for place, form in enumerate(names):
        runs = found[f'EWC{form}', ]
        mean, error = spread(
            r['heldout_apa'] - base[r['seed']] for r in runs)
        left.barh(place, mean, xerr=error, color='C0')
        right.barh(place, statistics.fmean(r['ps_active'] for r in runs),
                   color='C1')
    left.set_yticks(range(len(names)), names)
    left.invert_yaxis()
    left.set(xlabel='gain in held-out Average-APA over EWC')
    right.set(xlabel='PS')
    save(figure, 'forms')


def parameter_size() -> None:
    """PS against accuracy on Permuted-MNIST."""
    figure, axes = plt.subplots(figsize=(5, 3))
    for (name, ), rows in groups(
            chosen('permuted_mnist', 'full', 'report'), 'method').items():
        if rows[0]['ps_active']:
            x = rows[0]['ps_active']
            y = 100 * statistics.fmean(r['average_apa'] for r in rows)
            axes.plot(x, y, 'o')
            axes.annotate(name, (x, y), fontsize=7, xytext=(4, 3),
                          textcoords='offset points')
    axes.set(xlabel='PS', ylabel='Average-APA (%)')
    save(figure, 'parameter_size')


def main() -> None:
    for draw in (by_step, starts, whole_network, k_ablation, sweep, forms,
                 parameter_size):
        draw()


if __name__ == '__main__':
    main()
