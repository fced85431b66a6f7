"""The figures of docs/results, from the same runs as the tables."""
import statistics

import matplotlib
from make_tables import BASE, HERE, groups, mean_of, read_csv, read_json

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
    figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3))
    rows = [r for r in read_json('small_steps') if r['table'] == 'starts']
    for (name, ), runs in groups(rows, 'variant').items():
        steps = range(len(runs[0]['heldout']))

        def mean(score, runs=runs, steps=steps):
            return [100 * statistics.fmean(
                score(r['heldout'][s]) for r in runs) for s in steps]

        left.plot(steps, mean(lambda s: s[0]), label=name)
        right.plot(steps, mean(mean_of))
    left.set(xlabel='step', ylabel='IoU of the background (%)')
    right.set(xlabel='step', ylabel='mIoU (%)')
    left.legend(fontsize=6)
    save(figure, 'small_steps_by_step')


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
    """Held-out accuracy by strength."""
    rows = [r for r in read_json('permuted_mnist_fashion')
            if r['kind'] == 'tune' and r['method'].startswith('EWC')]
    figure, axes = plt.subplots(figsize=(5, 3))
    for (name, ), runs in groups(rows, 'method').items():
        runs = sorted(runs, key=lambda r: r['strength'])
        axes.plot([r['strength'] for r in runs],
                  [100 * r['heldout_apa'] for r in runs], 'o-', label=name)
    axes.set(xscale='log', xlabel='strength',
             ylabel='held-out Average-APA (%)')
    axes.legend(fontsize=7)
    save(figure, 'strength_sweep')


def parameter_size() -> None:
    """PS against accuracy on Permuted-MNIST."""
    figure, axes = plt.subplots(figsize=(5, 3))
    for (name, ), rows in groups(
            read_csv('permuted_mnist'), 'method').items():
        if rows[0]['ps_active']:
            x = float(rows[0]['ps_active'])
            y = 100 * statistics.fmean(float(r['average_apa']) for r in rows)
            axes.plot(x, y, 'o')
            axes.annotate(name, (x, y), fontsize=7, xytext=(4, 3),
                          textcoords='offset points')
    axes.set(xlabel='PS', ylabel='Average-APA (%)')
    save(figure, 'parameter_size')


def main() -> None:
    for draw in (by_step, starts, k_ablation, sweep, parameter_size):
        draw()


if __name__ == '__main__':
    main()
