"""What costs how much after 10, 100 and 1 000 tasks.

    python benchmarks/many_tasks.py [--tasks 10 100 1000] [--chart FILE.png]

The network is that of Permuted-MNIST, 574 410 parameters. An iteration must
cost the same after any number of tasks. A step boundary reads the stored
tasks: all of them where spWC weighs them anew, the newest where all weigh the
same. A record grows with the square of the tasks, since each is scored after
each. A few stored tasks stand for all, by links, so that a thousand need no
room; they are read from memory, and no time for a disk is counted.
"""
import argparse
import itertools
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
from _sides import Row, clock, medians, mnist_mlp, report
from mmengine.optim import OptimWrapper
from torch import Tensor, nn
from torch.nn import functional

sys.path.insert(
    0, str(Path(__file__).resolve().parents[1] / 'tests/test_visualization'))
from made_records import classification  # noqa: E402

from mmseg_spwc.consolidation import (  # noqa: E402
    GradientUpdate,
    PerStepForm,
    QuadraticPenalty,
    StepStore,
)
from mmseg_spwc.consolidation.forms import EVERY  # noqa: E402
from mmseg_spwc.engine.optim import Consolidated  # noqa: E402
from mmseg_spwc.record import Record  # noqa: E402
from mmseg_spwc.visualization.report import render  # noqa: E402
from mmseg_spwc.visualization.runs import compare, load_runs  # noqa: E402

DIFFERENT = 8  # stored tasks that are not links
LIMIT = 10.  # seconds in which a report should open
WRITING = 'one more step of the record'
Costs = dict[str, dict[int, float]]


def network() -> nn.Module:
    torch.manual_seed(0)
    return mnist_mlp()


def fill(folder: Path, count: int, dtype: str = 'float32') -> StepStore:
    """A store of so many tasks, most of them links to the first few."""
    store, params = StepStore(folder, dtype), network().state_dict()
    for step in range(min(count, DIFFERENT)):
        store.save(step, {n: 1e-3 * torch.rand_like(p)
                          for n, p in params.items()},
                   {n: p + .01 * torch.randn_like(p)
                    for n, p in params.items()})
    for step in range(DIFFERENT, count):
        os.link(store._path(step % DIFFERENT), store._path(step))
    return store


def seconds(function: Callable, *args) -> float:
    begin = clock()
    function(*args)
    return clock() - begin


def paced(count: int) -> dict[int, float]:
    """Weights as spWC gives them: no two are the same."""
    return {step: 1 + step / count for step in range(count)}


def whole_tensors(store: StepStore, weights: dict[int, float]) -> None:
    """The rival: the same sums in float64, one whole tensor at a time."""
    strength, centre = {}, {}
    for step, weight in weights.items():
        importances, anchors = store.load(step)
        for name, gamma in importances.items():
            added, anchor = weight * gamma.double(), anchors[name].double()
            before = strength.get(name, torch.zeros_like(added))
            total = before + added
            share = torch.where(total > 0, added / total, 0.)
            old = centre.get(name, anchor)
            shift = anchor - old
            (before * share * shift**2).sum().item()
            strength[name], centre[name] = total, old + share * shift


def boundaries(store: StepStore, counts: list[int]) -> Iterator[tuple]:
    """Yield count, seconds with equal weights and with spWC's."""
    form, kept = PerStepForm(), 0
    for count in counts:
        # the worst case: as many new ones as there may be
        worst = count // EVERY * EVERY - 1 if count > 2 * EVERY else count
        for end in range(kept + EVERY, worst + 1, EVERY):
            form(store, dict.fromkeys(range(end), 1.), dict)
            kept = end
        equal = seconds(form, store, dict.fromkeys(range(worst), 1.), dict)
        yield count, equal, seconds(form, store, paced(count), dict)


def iteration(penalty: QuadraticPenalty, images: Tensor,
              labels: Tensor) -> Callable:
    model = network()
    wrapper = OptimWrapper(
        optimizer=torch.optim.SGD(model.parameters(), lr=1e-3, momentum=.9))
    update = GradientUpdate()
    update.attach(penalty, wrapper.optimizer)
    Consolidated(wrapper).hold(dict(model.named_parameters()), update)
    return lambda: wrapper.update_params(
        functional.cross_entropy(model(images), labels))


def iterations(store: StepStore, counts: list[int],
               repeats: int) -> tuple[dict[int, float], dict[int, float]]:
    """Milliseconds of an iteration, and bytes that the penalty holds."""
    torch.manual_seed(2)
    batch = torch.rand(128, 1024), torch.randint(10, (128, ))
    penalties = {
        count: PerStepForm()(store, dict.fromkeys(range(count), 1e-3), dict)
        for count in counts
    }
    times = medians({count: iteration(penalty, *batch)
                     for count, penalty in penalties.items()}, repeats)
    return times, {count: held(penalty)
                   for count, penalty in penalties.items()}


def held(penalty: QuadraticPenalty) -> int:
    """Bytes of A and c, and of both as an iteration takes them."""
    cast = itertools.chain.from_iterable(penalty._ready.values())
    return sum(t.nbytes for t in (*penalty.state_dict().values(), *cast))


def records(folder: Path, count: int) -> tuple[float, float]:
    """Seconds to write one more step, and to read all and draw them."""
    whole = classification('EWC', tasks=count)
    record = Record(dict(whole.content, steps=whole.steps[:-1]))
    record.write(folder)
    record.add_step(whole.steps[-1], whole.content['summary'])

    def open_report() -> None:
        runs, problems = load_runs([folder], trust=True)
        render(compare(runs), None, problems)

    return seconds(record.write, folder), seconds(open_report)


def costs_of(args: argparse.Namespace) -> Costs:
    counts = sorted(args.tasks)
    found: Costs = {}
    with tempfile.TemporaryDirectory() as root:
        store = fill(Path(root, 'store'), counts[-1])
        some = min(counts[-1], 100)
        found['naive'] = {some: seconds(whole_tensors, store, paced(some))}
        found['ours'] = {some: seconds(PerStepForm(), store, paced(some),
                                       dict)}
        for count, equal, uneven in boundaries(store, counts):
            found.setdefault('boundary, equal weights', {})[count] = equal
            found.setdefault('boundary, spWC', {})[count] = uneven
        found['iteration'], found['memory'] = iterations(
            store, counts, args.repeats)
        small = fill(Path(root, 'small'), 1, 'bfloat16')
        found['bytes'] = {4: store.stamp(0)[0], 2: small.stamp(0)[0]}
        for count in counts:
            written, drawn = records(Path(root, str(count)), count)
            found.setdefault(WRITING, {})[count] = written
            found.setdefault('report', {})[count] = drawn
    return found


def measure(args: argparse.Namespace) -> Iterator[Row]:
    found = costs_of(args)
    few, *_, many = sorted(args.tasks)
    setting = '574 410 parameters'
    yield Row(f'iteration with EWC, {many} past tasks',
              found['iteration'][many], found['iteration'][few],
              f'itself with {few}', 1.05, setting)
    (some, ours), (_, naive) = itertools.chain(
        found['ours'].items(), found['naive'].items())
    yield Row(f'step boundary with spWC, {some} past tasks', ours, naive,
              'whole tensors in float64', 1., setting, 's')
    paced = found['boundary, spWC']
    yield Row(f'step boundary with spWC, {many} past tasks', paced[many],
              paced[few] * many / few, f'{many // few} times that of {few}',
              1.25, setting, 's')
    yield Row(f'step boundary with EWC, {many} past tasks',
              found['boundary, equal weights'][many], paced[many],
              'reading all of them', 2 * EVERY / many, setting, 's')
    size = found['bytes']
    yield Row('stored task, importances in bfloat16', size[2] / 1e6,
              4 * 574410 / 1e6, 'the network in float32', 1.51, setting, 'MB')
    yield Row(f'one more step of a record of {many}',
              found[WRITING][many], LIMIT, 'limit', 1.,
              'checked and written', 's')
    yield Row(f'report of {many} steps', found['report'][many], LIMIT,
              'limit', 1., 'read, checked and drawn', 's')
    if args.chart:
        draw(found, sorted(args.tasks), args.chart)


def draw(found: Costs, counts: list[int], path: str) -> None:
    """Time and memory by the number of tasks."""
    import matplotlib
    matplotlib.use('Agg')
    from matplotlib import pyplot as plt
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6))
    lines = {
        'iteration': {n: ms / 1e3 for n, ms in found['iteration'].items()},
        **{name: found[name] for name in (
            'boundary, equal weights', 'boundary, spWC',
            WRITING, 'report')}
    }
    for name, values in lines.items():
        left.plot(counts, [values[n] for n in counts], 'o-', label=name)
    left.set_ylabel('CPU seconds')
    size = found['bytes']
    for name, megabytes in {
            'in memory while training': [
                found['memory'][n] / 1e6 for n in counts],
            'on disk': [n * size[4] / 1e6 for n in counts],
            'on disk, bfloat16': [n * size[2] / 1e6 for n in counts]}.items():
        right.plot(counts, megabytes, 'o-', label=name)
    right.set_ylabel('MB')
    for axes in (left, right):
        axes.set_xscale('log')
        axes.set_yscale('log')
        axes.set_xlabel('past tasks')
        axes.grid(alpha=.3)
        axes.legend(fontsize=7)
        axes.spines[['top', 'right']].set_visible(False)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)


if __name__ == '__main__':
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--tasks', type=int, nargs='+',
                        default=[10, 100, 1000])
    parser.add_argument('--repeats', type=int, default=60)
    parser.add_argument('--chart', help='where to draw it')
    report(measure, parser)
