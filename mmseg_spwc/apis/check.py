"""What a run would do: the plan of its steps; and a check of all images."""
import os
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor

from mmengine.config import Config
from mmengine.dist import get_world_size
from PIL import Image

from mmseg_spwc.config.preflight import Plan
from mmseg_spwc.engine import ContinualRunner
from mmseg_spwc.engine.footprint import memory_sentence
from mmseg_spwc.errors import ConfigError, input_errors
from mmseg_spwc.record import Record
from mmseg_spwc.registry import DATASETS
from mmseg_spwc.scenario import Scenario
from mmseg_spwc.terminal import shown, time_left, track

ROLES = ('train', 'heldout', 'test')
NAMED = 6  # classes of a step that its line names
LISTED = 3  # broken files that a message names


def check_run(cfg: Config) -> str:
    """Look for all that can be wrong with a run, and return its plan.

    Besides what is checked before every training, all images are decoded,
    and the memory of a GPU is foretold.
    """
    runner = ContinualRunner(cfg)
    record, plan = runner.check()
    with input_errors('data'), shown(cfg.get('verbose', False)):
        datasets = [DATASETS.build(step[loader].dataset)
                    for step in plan.configs.values()
                    for loader in ('train_dataloader', 'val_dataloader',
                                   'test_dataloader') if step.get(loader)]
        decode(dict.fromkeys(
            path for dataset in datasets for path in image_files(dataset)))
    names = datasets[-1].metainfo['classes']
    return '\n'.join([
        plan_table(plan, runner.scenario, names, record), '',
        memory_sentence(cfg, get_world_size())])


def image_files(dataset: object) -> Iterator[str]:
    """The files that a step's dataset reads; none of images in memory."""
    if hasattr(dataset, 'get_data_info'):
        infos = map(dataset.get_data_info, range(len(dataset)))
    else:
        infos = (part.get_data_info(i)
                 for part in getattr(dataset.source, 'datasets', [])
                 for i in range(len(part)))
    return (info['img_path'] for info in infos if info.get('img_path'))


def decode(paths: Iterable[str]) -> None:
    """Read every image to its end; those that end early are an error."""
    paths = list(paths)
    with ThreadPoolExecutor(min(os.cpu_count() or 1, 16)) as pool:
        found = pool.map(_fault, paths)
        faults = [text for text in track(found, len(paths), 'images') if text]
    if faults:
        more = f' and {len(faults) - LISTED} more' * (len(faults) > LISTED)
        raise ConfigError(
            f'{len(faults)} of {len(paths)} images cannot be read: '
            f'{"; ".join(faults[:LISTED])}{more}. Get them anew, or take '
            'them out of the lists.')


def _fault(path: str) -> str | None:
    try:
        with Image.open(path) as image:
            image.load()
    except Exception as error:  # decoders raise of every kind
        return f'{path} ({error})'
    return None


def plan_table(plan: Plan, scenario: Scenario, names: Iterable[str],
               record: Record) -> str:
    """A line for each step: classes, images, iterations, time, memory.

    Time and memory are those of finished steps; the time of the others
    follows from them (~).
    """
    done = {entry['step']: entry['cost'] for entry in record.steps}
    speeds = [done[s]['wall_time'] / n for s, n in plan.iterations.items()
              if n and s in done and (s or len(done) == 1)]
    rows = [('step', *ROLES, 'iterations', 'time', 'memory', 'learns')]
    for step, images in plan.images.items():
        iterations = plan.iterations[step]
        time, memory = '-', '-'
        if step in done:
            time = time_left(done[step]['wall_time'])
            memory = f'{done[step]["peak_memory"] / 2**20:.0f} MiB'
        elif speeds:
            time = '~' + time_left(iterations * sum(speeds) / len(speeds))
        rows.append((str(step), *(_count(images, role) for role in ROLES),
                     str(iterations), time, memory,
                     new_names(scenario, list(names), step)))
    *widths, _ = (max(map(len, column)) for column in zip(*rows, strict=True))
    lines = ['  '.join([*map(str.rjust, row, widths), row[-1]])
             for row in rows]
    return '\n'.join(lines)


def _count(images: Mapping, role: str) -> str:
    return str(images.get(role, '-'))


def new_names(scenario: Scenario, names: list[str], step: int) -> str:
    """What a step brings: names of classes, of domains, or how many."""
    if scenario.kind == 'domain':
        found = [str(unit) for unit in scenario.steps[step]]
    else:
        owners = scenario.step_of_channel(scenario.num_steps - 1)
        found = [name for name, owner in zip(names, owners, strict=False)
                 if owner == step]
    more = f' and {len(found) - NAMED} more' * (len(found) > NAMED)
    return ', '.join(found[:NAMED]) + more
