"""Show what every step of a config would train on, on a page.

    mmseg-spwc browse CONFIG [-o browse.html] [--images 6]

Some images of each step with the masks as that step sees them, the label
values in the files and what each becomes, values that no class names, and
classes that no image shows. The page is one file and needs no network.
"""
import argparse
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from mmengine.config import Config
from mmengine.registry import init_default_scope
from torch.utils.data import Dataset

from mmseg_spwc.config.load import add_config_options, load_config
from mmseg_spwc.config.step import step_config
from mmseg_spwc.datasets.class_index import load_class_index
from mmseg_spwc.datasets.labelled_images import build_source, find_key
from mmseg_spwc.engine import ContinualRunner
from mmseg_spwc.errors import ConfigError, input_errors, tool_errors
from mmseg_spwc.labels import VOID
from mmseg_spwc.registry import DATASETS
from mmseg_spwc.scenario import Scenario
from mmseg_spwc.terminal import shown
from mmseg_spwc.utils.files import write_text
from mmseg_spwc.visualization.gallery import Gallery
from mmseg_spwc.visualization.report import render_browse
from mmseg_spwc.visualization.series import thinned

HATCH = 3  # pixels of a stripe of void
NOTHING = 'nothing: no class has this value'


@dataclass
class Row:
    """A label value in the files of one dataset."""
    value: int
    images: int
    means: str  # in these files
    becomes: str  # while the step trains
    wrong: bool = False


@dataclass
class StepSight:
    """What a step sees.

    ``pictures`` are (image, mask or None, caption); ``legend`` has name and
    colour of what the masks show.
    """
    step: int
    learns: list
    images: int = 0
    pictures: list = field(default_factory=list)
    legend: list = field(default_factory=list)
    tables: list = field(default_factory=list)  # rows of each dataset
    unseen: list = field(default_factory=list)  # classes without an image
    problem: str = ''


def browse(cfg: Config, count: int = 6) -> str:
    """Return the page that shows what every step trains on.

    What is wrong with the data of a step is said on the page. ``count``
    images of each step are shown.
    """
    runner = ContinualRunner(cfg)
    scenario = runner.scenario
    init_default_scope(cfg.get('default_scope', 'mmseg'))
    look = _look_at_images if scenario.problem == 'classification' else \
        _look_at_masks
    sights = []
    with shown(cfg.get('verbose', False)):
        for step in runner.steps:
            with input_errors('config'):
                config = step_config(cfg, scenario, step)
            sight = StepSight(step, list(scenario.called(step)))
            try:
                with input_errors('data'):
                    look(config.train_dataloader.dataset, scenario, sight,
                         count)
            except ConfigError as error:
                sight.problem = str(error)
            sights.append(sight)
    return render_browse(f'{cfg.experiment_name}, step by step', sights)


def _look_at_masks(config: Mapping, scenario: Scenario, sight: StepSight,
                   count: int) -> None:
    own = config.get('own') or []
    sources = list(scenario.sources('train', sight.step))
    tables = {source: _values(
        config['dataset'] if source is None else own[source], scenario,
        source, sight.step, config.get('cache_dir')) for source in sources}
    sight.tables = [rows for rows in tables.values() if rows]
    dataset = DATASETS.build(config)
    sight.images = len(dataset)
    sight.learns = _new_names(dataset, scenario, sight.step)
    seen = Counter(c for i in range(len(dataset))
                   for c in dataset.classes_of(i))
    sight.unseen = [
        name for name, c in zip(sight.learns, scenario.new_classes(sight.step),
                                strict=False) if sources and not seen[c]]
    gallery = Gallery(list(dataset.metainfo['classes']),
                      dataset.metainfo['palette'])
    painted = set()
    for i in thinned(range(len(dataset)), count):
        image, mask = _before_augmentation(dataset, i)
        painted |= set(np.unique(mask).tolist())
        sight.pictures.append((image, hatched(gallery, mask), ''))
    sight.legend = [gallery.legend(c) for c in sorted(painted - {VOID})]
    if VOID in painted:
        sight.legend.append(('not counted (hatched)', '#808080'))


def _new_names(dataset: Dataset, scenario: Scenario, step: int) -> list[str]:
    """Names of what a step learns, without background."""
    names = dataset.metainfo['classes']
    return [name for name, c, owner in zip(
        names, scenario.seen_classes(step), scenario.step_of_channel(step),
        strict=True) if owner == step
        and (c or scenario.problem == 'classification')]


def _values(config: Mapping, scenario: Scenario, source: int | None,
            step: int, cache_dir: str | None) -> list[Row]:
    """All label values of a dataset, those that mean nothing included."""
    dataset = build_source(config)
    names = dataset.metainfo.get('classes')
    infos = [dataset.get_data_info(i) for i in range(len(dataset))]
    labels = scenario.label_map(source, names)
    index = load_class_index(infos, find_key(config, 'data_root'), cache_dir)
    counts = Counter(v for values in index.values() for v in values)
    table = scenario.train_table(step, labels, source)
    last = scenario.num_steps - 1
    called = _names_by_id(scenario, names or (), last)
    channels = dict(enumerate(scenario.seen_classes(step)))
    wrong = labels.wrong(counts)
    rows = []
    for value, images in sorted(counts.items()):
        if value in wrong:
            rows.append(Row(value, images, NOTHING, '', True))
            continue
        class_id = labels.ids.get(value, labels.others)
        means = 'void' if value in labels.void else called.get(
            class_id, 'a class that no step learns')
        channel = int(table[value])
        becomes = 'not counted' if channel == VOID else called.get(
            channels[channel], 'background')
        rows.append(Row(value, images, means, becomes))
    return rows


def _names_by_id(scenario: Scenario, names: Sequence, last: int) -> dict:
    found = dict(zip(scenario.seen_classes(last),
                     scenario.class_names(names, last), strict=True))
    if scenario.has_background:
        found[0] = 'background'
    return found


def _before_augmentation(dataset: Dataset,
                         index: int) -> tuple[np.ndarray, np.ndarray]:
    """An image as RGB (H, W, 3), and its channels (H, W)."""
    part, place = dataset.samples[index]
    sample = part.info(place)
    for transform in part.pipeline.transforms:
        sample = transform(sample)
        if type(transform).__name__ == 'MapLabels':
            break
    return sample['img'][..., ::-1], sample['gt_seg_map']


def hatched(gallery: Gallery, mask: np.ndarray) -> np.ndarray:
    """Paint a mask (H, W); void has stripes of grey."""
    painted = gallery.colour(mask)
    rows, columns = np.indices(mask.shape)
    dark = (rows + columns) // HATCH % 2 == 0
    painted[(mask == VOID) & dark] = 64
    painted[(mask == VOID) & ~dark] = 192
    return painted


def _look_at_images(config: Mapping, scenario: Scenario, sight: StepSight,
                    count: int) -> None:
    dataset = DATASETS.build(config)
    names = list(dataset.metainfo['classes'])
    sight.images = len(dataset)
    sight.learns = _new_names(dataset, scenario, sight.step) or sight.learns
    channels = dataset.channels.tolist()
    per_class = Counter(channels)
    owners = scenario.step_of_channel(sight.step)
    sight.unseen = [name for c, name in enumerate(names)
                    if owners[c] == sight.step and not per_class[c]]
    table = scenario.channel_table(sight.step)
    rows = []
    for label, images in sorted(Counter(
            np.asarray(dataset.source.labels).tolist()).items()):
        channel = int(table[label]) if label < len(table) else -1
        rows.append(Row(label, images, '', names[channel] if 0 <= channel <
                        len(names) else 'left out of this step'))
    sight.tables = [rows]
    # one of each class in turn
    order = sorted(range(len(channels)), key=lambda i: (
        channels[:i].count(channels[i]) if len(channels) < 500 else 0))
    for i in thinned(order, count):
        inputs = dataset[i]['inputs'].numpy().transpose(1, 2, 0)
        image = np.broadcast_to(inputs.astype(np.uint8),
                                (*inputs.shape[:2], 3))
        if not dataset.whole_batches:
            image = image[..., ::-1]  # read as BGR
        sight.pictures.append((np.ascontiguousarray(image), None,
                               names[channels[i]]))


def main() -> int:
    parser = argparse.ArgumentParser(description='Browse the data')
    add_config_options(parser)
    parser.add_argument(
        '-o', '--out', default='browse.html', help='the page to write')
    parser.add_argument('--images', type=int, default=6, metavar='N',
                        help='number of images of each step')
    args = parser.parse_args()
    with tool_errors():
        write_text(args.out, browse(load_config(args), args.images))
    print(args.out)
    return 0


if __name__ == '__main__':
    sys.exit(main())
