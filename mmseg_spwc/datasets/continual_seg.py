"""One step of a scenario, cut out of any mmseg datasets."""
import colorsys
import os
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from mmengine.dataset import Compose
from torch.utils.data import Dataset

from mmseg_spwc.errors import naming_files
from mmseg_spwc.memory import Replay
from mmseg_spwc.registry import DATASETS
from mmseg_spwc.scenario import Scenario, build_scenario
from mmseg_spwc.terminal import warn
from mmseg_spwc.utils.random_state import generators_kept, seed_generators

from .decoded import DecodedImages, decoded_gigabytes
from .labelled_images import (
    LabelledImages,
    insert_label_map,
    known_meta,
    pipeline_of,
    replayed_images,
)


@dataclass
class Part:
    """Images of one dataset that are read, and labelled, in one way."""
    images: LabelledImages
    names: list[str]
    positions: list[int]
    pipeline: Compose
    facts: dict  # meta information of each of its samples
    decoded: DecodedImages | None = None

    @classmethod
    def of(cls, images: LabelledImages, names: Container[str],
           table: Sequence[int], facts: dict) -> 'Part':
        """The named images, with the channels of a label table."""
        found = {n: i for i, n in enumerate(images.index) if n in names}
        pipeline = insert_label_map(pipeline_of(images.config), table)
        return cls(images, list(found), list(found.values()),
                   Compose(pipeline), facts)

    def info(self, place: int) -> dict:
        return self.images.dataset.get_data_info(self.positions[place])

    def name(self, place: int) -> str:
        return self.images.prefix + self.names[place]

    def classes(self, place: int) -> frozenset[int]:
        """Class ids that an image shows, background included."""
        return self.images.labels.classes(
            self.images.index[self.names[place]])

    def keep_decoded(self, room: float) -> None:
        """Let the pipeline begin after the masks are loaded and mapped."""
        transforms = self.pipeline.transforms
        self.decoded = DecodedImages(len(self.names), room, transforms[:3])
        self.pipeline = Compose(transforms[3:])


@DATASETS.register_module()
class ContinualSegDataset(Dataset):
    """The images and labels of one step, as its config asks for them.

    It builds an mmseg dataset, or several, keeps the images that belong to
    the step, and maps labels to the step's channels right after
    ``LoadAnnotations``. Augmentation is seeded per sample and epoch (see
    :mod:`mmseg_spwc.datasets.loading`).

    Args:
        dataset (dict): Config of an mmseg dataset or of a ``ConcatDataset``
            of them; ``own`` has those of the steps with data of their own.
        role (str): ``'train'``; ``'heldout'``, the slice of the training
            images that only scores the model; or ``'test'``.
        heldout (dict, optional): ``ratio`` and ``seed`` of that slice.
        cumulative (bool): Train on the images and classes of all steps so
            far, as joint training does. Defaults to False.
        keep_decoded (float): Gigabytes of memory in which decoded images are
            kept for the next epochs. Defaults to 0.
        replay (dict, optional): Images of earlier steps that train this one
            again, after its own: see :class:`mmseg_spwc.memory.Replay`.
    """

    def __init__(self, dataset: dict | None, scenario: dict, step: int,
                 role: str = 'train', heldout: dict | None = None,
                 cumulative: bool = False, seed: int = 0,
                 cache_dir: str | None = None, keep_decoded: float = 0.,
                 replay: dict | None = None,
                 own: Sequence[dict | None] = ()) -> None:
        self.replay = Replay.of(replay, role, cumulative)
        self.scenario = build_scenario(scenario)
        self.step = step
        self.seed = seed
        self.config = dataset
        images = {
            source: LabelledImages(dataset if source is None else own[source],
                                   self.scenario, source, cache_dir)
            for source in self.scenario.sources(
                role, step, cumulative or self.replay is not None)
        }
        self.memory = [] if self.replay is None else replayed_images(
            images.values(), self.scenario, step, heldout, self.replay)
        self.parts = [
            self._part(images[source], images[source].choose(
                step, role, heldout, cumulative), role, cumulative)
            for source in self.scenario.sources(role, step, cumulative)
        ]
        # which part an index belongs to, and its place there
        self.samples = [(part, place) for part in self.parts
                        for place in range(len(part.names))]
        self.new = len(self.samples)
        self._remember(images)
        if keep_decoded:
            self._keep_decoded(keep_decoded)

    def _part(self, images: LabelledImages, names: Container[str], role: str,
              cumulative: bool) -> Part:
        facts = {}
        if self.scenario.data:  # the metric has to know it
            facts = dict(
                test_set=self.scenario.first_step_of(images.source),
                unlabelled=self.scenario.unlabelled(self.step, images.labels))
        if self.memory:
            facts.update(self._labelled(self.step, 'current'))
        return Part.of(images, names,
                       images.table(self.step, role, cumulative), facts)

    def _labelled(self, step: int, labels: str) -> dict:
        """Which step a sample is of, and which channels its labels name."""
        return dict(image_step=step, labelled=labelled_channels(
            self.scenario, self.step, labels, step))

    def _remember(self, images: Mapping[int | None, LabelledImages]) -> None:
        """Append the samples of the memory to those of the step."""
        places = {}
        for step in sorted({sample.step for sample in self.memory}):
            source, labels = images[self.scenario.source_of(step)], \
                self.replay.labels
            names = {sample.name.removeprefix(source.prefix)
                     for sample in self.memory if sample.step == step}
            table = source.table(step, 'train') if labels == 'stored' else \
                source.table(self.step, 'train', labels == 'seen')
            part = Part.of(source, names, table, self._labelled(step, labels))
            self.parts.append(part)
            places.update({(step, part.name(i)): (part, i)
                           for i in range(len(part.names))})
        self.samples += [places[s.step, s.name] for s in self.memory]

    def replay_facts(self) -> dict:
        """What the record tells of the replayed images; they count as
        files."""
        infos = [self.get_data_info(i) for i in range(self.new, len(self))]
        size = sum(os.path.getsize(info[key]) for info in infos
                   for key in ('img_path', 'seg_map_path'))
        return self.replay.facts(self.memory, self.new, size)

    def _keep_decoded(self, room: float) -> None:
        for part in self.parts:
            part.keep_decoded(room * len(part.names) / max(len(self), 1))
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
        shared = next((p.images.dataset.metainfo for p in self.parts
                       if p.images.source is None), None)
        return channel_meta(self.scenario, self.step,
                            shared or known_meta(self.config))

    @property
    def names(self) -> list[str]:
        """Name of every sample's image, each once."""
        return [part.name(place) for part, place in self.samples]

    def classes_of(self, index: int) -> frozenset[int]:
        """Class ids that an image shows, background included."""
        part, place = self.samples[index]
        return part.classes(place)

    def get_data_info(self, index: int) -> dict:
        part, place = self.samples[index]
        return part.info(place)

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, key: int | Sequence) -> dict:
        """Return a sample by its index, or by ``(index, epoch)``."""
        return self.__getitems__([key])[0]

    def __getitems__(self, keys: Sequence) -> list[dict]:
        """Return the samples of a batch, as PyTorch's loaders ask for them."""
        with generators_kept():
            return [self._sample(key) for key in keys]

    def _sample(self, key: int | Sequence) -> dict:
        index, epoch = key if isinstance(key, Sequence) else (key, 0)
        part, place = self.samples[index]
        info = part.info(place)
        with naming_files(dict(info)):
            if part.decoded is not None:
                info = part.decoded.load(place, info)
            seed_generators(self.seed, epoch, index)
            sample = part.pipeline(info)
        if part.facts:
            sample['data_samples'].set_metainfo(part.facts)
        return sample


def labelled_channels(scenario: Scenario, step: int,
                      labels: str = 'current',
                      image_step: int = 0) -> tuple[int, int]:
    """First of the channels that an image's labels name at a step, and their
    end; :class:`~mmseg_spwc.memory.Replay` explains ``labels``."""
    if scenario.kind == 'domain':
        return 0, scenario.num_channels(step)
    named = image_step if labels == 'stored' else step
    alone = labels != 'seen' and scenario.setting != 'sequential'
    first = scenario.num_channels(named - 1) if alone and named else 1
    return first, scenario.num_channels(named)


def channel_meta(scenario: Scenario, step: int, meta: dict) -> dict:
    """Meta information of the config's dataset, as far as it is known, with
    the names and colours of a step's channels."""
    names = list(meta.get('classes') or ())
    info = dict(meta, classes=scenario.class_names(names, step))
    palette = meta.get('palette')
    if palette is None and not scenario.names:
        return info
    first = scenario.num_classes - len(scenario.names)
    if first > scenario.has_background:
        palette = _own_colours(
            meta, scenario.has_background and len(names) == first)
    known = {} if _is_random(meta) else dict(
        zip(names, palette or (), strict=False))
    invented = _colours(scenario.num_classes)[first - 1:]
    own = [known.get(name) or colour for name, colour in zip(
        scenario.names, invented, strict=False)]
    info['palette'] = scenario.palette(palette, step, own)
    return info


def _own_colours(info: dict, background: bool) -> list:
    """The palette; in place of mmseg's random one, colours that differ."""
    if not _is_random(info):
        return info['palette']
    count = len(info['classes'])
    found = _colours(count)
    return [[0, 0, 0], *found][:count] if background else found


def _is_random(info: dict) -> bool:
    count = len(info.get('classes') or ())
    invented = np.random.RandomState(42).randint(0, 255, (count, 3)).tolist()
    return list(info.get('palette') or ()) == invented


def _colours(count: int) -> list:
    """Hues at the golden angle, in turn dark, middle and light."""
    found = [colorsys.hls_to_rgb(.618034 * i % 1, (.35, .5, .7)[i % 3], .9)
             for i in range(count)]
    return [[round(255 * part) for part in colour] for colour in found]
