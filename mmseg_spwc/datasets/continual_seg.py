"""One step of a scenario, cut out of any mmseg dataset."""
import colorsys
import dataclasses
import os
from collections.abc import Mapping, Sequence

import numpy as np
from mmengine.dataset import Compose
from mmseg.structures import SegDataSample
from torch.utils.data import Dataset

from mmseg_spwc.errors import WHERE, naming_files
from mmseg_spwc.registry import DATASETS
from mmseg_spwc.scenario import (
    Scenario,
    build_scenario,
    hold_out,
    select_heldout,
    select_test,
    select_train,
)
from mmseg_spwc.terminal import warn
from mmseg_spwc.utils.random_state import generators_kept, seed_generators

from .class_index import load_class_index
from .decoded import DecodedImages, decoded_gigabytes
from .replayed import (
    labelled_channels,
    replay_facts,
    replay_of,
    replayed_images,
)

NO_IMAGE = ('The dataset {} holds no image. Check data_root, ann_file and '
            'img_suffix.')
NO_DATA = '{} is missing. Put the dataset into {}, ' + WHERE


@DATASETS.register_module()
class ContinualSegDataset(Dataset):
    """The images and labels of one step.

    It builds the given mmseg dataset, keeps the images that belong to the
    step, and maps labels to the step's channels right after
    ``LoadAnnotations``. Augmentation is seeded per sample and epoch (see
    :mod:`mmseg_spwc.datasets.loading`).

    Args:
        dataset (dict): Config of an mmseg dataset or of a ``ConcatDataset``
            of them. Its pipeline is used.
        scenario (dict): See :func:`mmseg_spwc.scenario.build_scenario`.
        step (int): The step, from 0.
        role (str): ``'train'``; ``'heldout'``, the slice of the training
            images that only scores the model; or ``'test'``.
        heldout (dict, optional): ``ratio`` and ``seed`` of the held-out
            slice. Defaults to none held out.
        cumulative (bool): Train on the images and classes of all steps so
            far, as joint training does. Defaults to False.
        seed (int): Seed of the augmentation. Defaults to 0.
        cache_dir (str, optional): See :func:`load_class_index`.
        keep_decoded (float): Gigabytes of memory in which decoded images are
            kept for the next epochs, as many as fit into it. Defaults to
            0.
        replay (dict, optional): Images of earlier steps that train this one
            again, see :class:`mmseg_spwc.memory.Replay`. They follow the
            step's own. Defaults to None.
    """

    def __init__(self,
                 dataset: dict,
                 scenario: dict,
                 step: int,
                 role: str = 'train',
                 heldout: dict | None = None,
                 cumulative: bool = False,
                 seed: int = 0,
                 cache_dir: str | None = None,
                 keep_decoded: float = 0.,
                 replay: dict | None = None) -> None:
        self.replay = replay_of(replay, role, cumulative)
        self.scenario = build_scenario(scenario)
        self.step = step
        self.seed = seed
        self.source = build_source(dataset)
        self.index = index_of(self.source, dataset, self.scenario, cache_dir)
        self.names = list(self.index)
        chosen = choose(self.index, self.scenario, step, role, heldout,
                        cumulative)
        self.positions = [
            i for i, name in enumerate(self.names) if name in chosen
        ]
        self.new = len(self.positions)
        self.memory = [] if self.replay is None else replayed_images(
            self.index, self.scenario, step, heldout, self.replay)
        place = {name: i for i, name in enumerate(self.names)}
        self.positions += [place[sample.name] for sample in self.memory]
        self.pipeline = Compose(insert_label_map(
            pipeline_of(dataset),
            label_table(self.scenario, step, role, cumulative),
            self._replayed_tables()))
        self.decoded = None
        if keep_decoded:
            self._keep_decoded(keep_decoded)

    def _replayed_tables(self) -> dict[int, list]:
        """The label table of the replayed images of every earlier step."""
        def table(step: int) -> list:
            if self.replay.labels == 'stored':
                return label_table(self.scenario, step, 'train', False)
            return label_table(self.scenario, self.step, 'train',
                               self.replay.labels == 'seen')

        return {s: table(s) for s in {sample.step for sample in self.memory}}

    def replay_facts(self) -> dict:
        """What the record tells of the replayed images; they count as
        files."""
        infos = [self.get_data_info(i) for i in range(self.new, len(self))]
        size = sum(os.path.getsize(info[key]) for info in infos
                   for key in ('img_path', 'seg_map_path'))
        return replay_facts(self.replay, self.memory, self.new, size)

    def _keep_decoded(self, room: float) -> None:
        """Let the pipeline begin after the masks are loaded and mapped."""
        transforms = self.pipeline.transforms
        self.decoded = DecodedImages(len(self), room, transforms[:3])
        self.pipeline = Compose(transforms[3:])
        paths = [self.get_data_info(i)['img_path'] for i in range(len(self))]
        needed = decoded_gigabytes(paths)
        if needed is not None and needed > room:
            warn(f'The {len(self)} decoded images of step {self.step} take '
                 f'about {needed:.2g} GB: keep_decoded={room:g} holds '
                 f'{room / needed:.0%} of them, and the others are read anew '
                 'in every epoch.')

    @property
    def metainfo(self) -> dict:
        """The source's meta information with the channels' names."""
        info = dict(self.source.metainfo)
        info['classes'] = self.scenario.class_names(info['classes'], self.step)
        if info.get('palette') is not None:
            first = self.scenario.has_background and len(
                self.source.metainfo['classes']) == self.scenario.num_classes
            info['palette'] = self.scenario.palette(
                _own_colours(self.source.metainfo, first), self.step)
        return info

    def get_data_info(self, index: int) -> dict:
        info = self.source.get_data_info(self.positions[index])
        if index >= self.new:
            info['image_step'] = self.memory[index - self.new].step
        return info

    def __len__(self) -> int:
        return len(self.positions)

    def __getitem__(self, key: int | Sequence) -> dict:
        """Return a sample by its index, or by ``(index, epoch)``."""
        return self.__getitems__([key])[0]

    def __getitems__(self, keys: Sequence) -> list[dict]:
        """Return the samples of a batch, as PyTorch's loaders ask for them."""
        with generators_kept():
            return [self._sample(key) for key in keys]

    def _sample(self, key: int | Sequence) -> dict:
        index, epoch = key if isinstance(key, Sequence) else (key, 0)
        info = self.get_data_info(index)
        with naming_files(dict(info)):
            if self.decoded is not None:
                info = self.decoded.load(index, info)
            seed_generators(self.seed, epoch, index)
            data = self.pipeline(info)
        if self.memory:
            self._tell_labelled(index, data['data_samples'])
        return data

    def _tell_labelled(self, index: int, sample: SegDataSample) -> None:
        """Say which step a sample is of, and which channels its labels name.
        """
        step, labels = self.step, 'current'
        if index >= self.new:
            step = self.memory[index - self.new].step
            labels = self.replay.labels
        sample.set_metainfo(dict(image_step=step, labelled=labelled_channels(
            self.scenario, self.step, labels, step)))


def build_source(config: dict):
    """Build the dataset that a step is cut out of.

    Raises:
        FileNotFoundError: If files are missing; says which, and where they
            are looked for.
        ValueError: If it is empty.
    """
    try:
        return DATASETS.build(config)
    except (AssertionError, FileNotFoundError) as error:
        # mmseg asserts that the list of images exists
        if isinstance(error, AssertionError) and 'ann_file' in str(error):
            missing = str(error).rpartition(' ')[2]
        elif getattr(error, 'filename', None):
            missing = error.filename
        else:  # the dataset has said what is missing
            raise
        root = find_key(config, 'data_root') or 'its folder'
        raise FileNotFoundError(NO_DATA.format(missing, root)) from error
    except ValueError as error:
        if 'at least one array' not in str(error):  # MMEngine's, if empty
            raise
        raise ValueError(NO_IMAGE.format(config.get('type'))) from error


def index_of(source, config: dict, scenario: Scenario,
             cache_dir: str | None) -> dict:
    """Return the class index of a built dataset.

    Raises:
        ValueError: If there is no image, or a mask holds a value that is not
            a label of the scenario.
    """
    infos = [source.get_data_info(i) for i in range(len(source))]
    if not infos:
        raise ValueError(NO_IMAGE.format(config.get('type')))
    if infos[0].get('label_map'):
        raise ValueError(
            'The dataset restricts its classes by metainfo. Give the class '
            'order in the scenario (steps=[[...], ...]) instead.')
    index = load_class_index(infos, find_key(config, 'data_root'), cache_dir)
    for name, values in index.items():
        scenario.check_labels(values, name)
    return index


def choose(index: dict, scenario: Scenario, step: int, role: str,
           heldout: dict | None, cumulative: bool) -> set:
    """Return the names of the images that play ``role`` at ``step``."""
    steps = scenario.steps_of(role, step, cumulative)
    if role == 'test':
        return set(select_test(index, scenario, step))
    held = hold_out(index, scenario, **heldout) if heldout else frozenset()
    if role == 'heldout':
        return set(select_heldout(held, index, scenario, step))
    return {n for t in steps for n in select_train(index, scenario, t, held)}


def label_table(scenario: Scenario, step: int, role: str,
                cumulative: bool) -> list:
    """Return the 256 channels of the raw label values."""
    if role != 'train':
        return scenario.test_table(step).tolist()
    if cumulative:
        scenario = dataclasses.replace(scenario, setting='sequential')
    return scenario.train_table(step).tolist()


def insert_label_map(pipeline: list, table: list,
                     by_step: Mapping[int, list] | None = None) -> list:
    """Insert ``MapLabels`` after the transform that loads the masks."""
    loaders = [
        i for i, t in enumerate(pipeline)
        if str(t['type']).rpartition('.')[2] == 'LoadAnnotations'
    ]
    if not loaders:
        raise ValueError('The pipeline has no LoadAnnotations; a step needs '
                         'the masks to map their labels.')
    where = loaders[-1] + 1
    step = dict(type='mmseg_spwc.MapLabels', table=table, by_step=by_step)
    return [*pipeline[:where], step, *pipeline[where:]]


def pipeline_of(config: dict) -> list:
    """Return the one pipeline of a dataset config or of its parts."""
    parts = config.get('datasets', [config])
    pipelines = [part.get('pipeline', []) for part in parts]
    if any(p != pipelines[0] for p in pipelines):
        raise ValueError('The datasets of a ConcatDataset have different '
                         'pipelines; give them the same one.')
    return list(pipelines[0])


def find_key(config: dict, key: str) -> str:
    """Return ``config[key]``, or that of the first nested dataset."""
    parts = (config, *config.get('datasets', []))
    return next((part[key] for part in parts if part.get(key)), '')


def _own_colours(info: dict, background: bool) -> list:
    """The palette; in place of mmseg's random one, colours that differ."""
    count = len(info['classes'])
    invented = np.random.RandomState(42).randint(0, 255, (count, 3)).tolist()
    if list(info['palette']) != invented:
        return info['palette']
    # hues at the golden angle, in turn dark, middle and light
    found = [colorsys.hls_to_rgb(.618034 * i % 1, (.35, .5, .7)[i % 3], .9)
             for i in range(count)]
    found = [[round(255 * part) for part in colour] for colour in found]
    return [[0, 0, 0], *found][:count] if background else found
