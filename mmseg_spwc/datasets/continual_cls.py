"""One step of a classification scenario, cut out of any dataset."""
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property

import numpy as np
import torch
from torch.utils.data import Dataset

from mmseg_spwc.memory import Replay, Sample
from mmseg_spwc.registry import DATASETS, TRANSFORMS
from mmseg_spwc.scenario import (
    UNLEARNT,
    ClassificationScenario,
    build_scenario,
    check_task_data,
    choose_images,
    select_samples,
)
from mmseg_spwc.structures import BatchSamples
from mmseg_spwc.utils.random_state import seeded

from .batches import PixelOrders, RisingLevels, counter_uniforms
from .images.source import SampleSource, is_source, load_source


@DATASETS.register_module()
class ContinualClsDataset(Dataset):
    """The samples of one step: images with their task and channel.

    Small images in memory (:mod:`mmseg_spwc.datasets.images`) are read a
    whole batch at a time: ``dict(inputs=uint8 (B, C, H, W),
    data_samples=BatchSamples)``. Any other dataset is read image by image
    through its own pipeline; its ``DataSample`` gets the channel as
    ``gt_label`` and the field ``task``. Augmentation depends on seed, epoch
    and sample alone (see :mod:`mmseg_spwc.datasets.loading`).

    Args:
        dataset (dict): Config of an image source, of an mmpretrain dataset,
            or of a ``ConcatDataset`` of either; ``own`` has those of the
            steps with data of their own. Domains that are no permutations
            need one dataset for each step.
        role (str): ``'train'``: the step's images less the held-out ones;
            ``'heldout'``: the held-out ones of all steps so far; ``'test'``:
            all images of all steps so far. Defaults to ``'train'``.
        heldout (dict, optional): ``ratio`` of every class that is held out
            of the training images, and ``seed`` (the scenario's by default).
        augment (Sequence[dict]): Batched augmentations of images in memory.
        cumulative, replay: As of
            :class:`~mmseg_spwc.datasets.continual_seg.ContinualSegDataset`.
    """

    def __init__(self, dataset: dict, scenario: dict, step: int,
                 role: str = 'train', heldout: dict | None = None,
                 cumulative: bool = False, seed: int = 0,
                 augment: Sequence[dict] = (), replay: dict | None = None,
                 own: Sequence[dict | None] = ()) -> None:
        self.replay = Replay.of(replay, role, cumulative)
        self.scenario = build_scenario(scenario)
        self.sources = self.scenario.sources(
            role, step, cumulative or self.replay is not None)
        self.step = step
        self.seed = seed
        config = self._config(dataset, own)
        self.whole_batches = bool(self.sources) and is_source(config)
        if augment and self.sources and not self.whole_batches:
            raise ValueError(
                'augment works on images in memory: put the augmentation '
                "into the dataset's pipeline, or wrap it in "
                'mmseg_spwc.InMemoryImages.')
        load = load_source if self.whole_batches else SampleSource
        self.source = load(config)
        self.augment = [TRANSFORMS.build(dict(t)) for t in augment]
        self._select(role, cumulative, heldout or {})
        self.pixels = self._pixel_orders()
        self.levels = None
        if self.scenario.noise or self.scenario.rotation:
            self.levels = RisingLevels(self.scenario, role == 'test')

    def _config(self, dataset: dict | None,
                own: Sequence[dict | None]) -> dict:
        """All datasets that play the role, in a row."""
        self.source_of_part = []
        if not self.scenario.data:
            return dataset
        configs = []
        for source in self.sources:
            config = dataset if source is None else own[source]
            parts = config.get('datasets') or [config]
            configs += parts
            self.source_of_part += [source] * len(parts)
        if len({is_source(config) for config in configs}) > 1:
            raise ValueError(
                'Some steps have their images in memory, others are read '
                'image by image: wrap these in mmseg_spwc.InMemoryImages.')
        return dict(type='ConcatDataset', datasets=configs)

    def _select(self, role: str, cumulative: bool, heldout: Mapping) -> None:
        labels = np.asarray(self.source.labels)
        parts = np.asarray(self.source.parts)
        ids = self._ids(labels, parts)
        images, self.split_facts = choose_images(
            labels, parts, role, {'seed': self.scenario.seed, **heldout})

        def of(sources: Iterable) -> np.ndarray:
            if not self.scenario.data:
                return images
            wanted = [i for i, s in enumerate(self.source_of_part)
                      if s in sources]
            return images[np.isin(parts[images], wanted)]

        self.memory = [] if self.replay is None else replayed_samples(
            ids, parts, lambda t: of([self.scenario.source_of(t)]),
            self.scenario, self.step, self.replay)
        own = self.scenario.sources(role, self.step, cumulative)
        images = of(own)
        images, tasks = select_samples(
            ids, parts, images, self.scenario,
            self._tasks(role, own, ids[images]))
        self.new = len(images)
        if self.memory:
            places = [int(s.name.partition('/')[2]) for s in self.memory]
            images = np.append(images, places)
            tasks = np.append(tasks, [s.step for s in self.memory])
        tables = np.stack([
            self.scenario.channel_table(t) for t in range(self.step + 1)
        ])
        self.image_ids = torch.from_numpy(images)
        self.tasks = torch.from_numpy(tasks)
        self.channels = torch.from_numpy(tables[tasks, ids[images]])

    def _ids(self, labels: np.ndarray, parts: np.ndarray) -> np.ndarray:
        """The class id of every image, -1 where no step learns it."""
        if not self.scenario.data:
            check_task_data(labels, parts, self.scenario)
            self.scenario.class_names(  # says what is wrong, if it is these
                self.source.metainfo.get('classes') or (), self.step)
            return labels
        ids = np.full_like(labels, UNLEARNT)
        for part, source in enumerate(self.source_of_part):
            known = self.scenario.label_map(source, self.source.names[part])
            self.scenario.check_labelled(source, known,
                                         self.source.names[part])
            for value, class_id in known.ids.items():
                ids[(parts == part) & (labels == value)] = class_id
        return ids

    def _tasks(self, role: str, sources: Mapping,
               ids: np.ndarray) -> list[int]:
        """Tasks of the samples: those of the data, and old ones in them."""
        tasks = {t for steps in sources.values() for t in steps}
        old = role != 'train' or any(
            source is not None and self.scenario.data[source].old == 'labelled'
            for source in sources)
        if self.scenario.data and old:
            shown = set(ids.tolist())
            tasks |= {t for t in range(self.step + 1)
                      if shown & {*self.scenario.steps[t]}}
        return sorted(tasks)

    def replay_facts(self) -> dict:
        """What the record tells of the replayed samples; of files not in
        memory the size is that on disk."""
        places = self.image_ids[self.new:]
        size = self.source.images[places].nbytes if self.whole_batches else \
            self.source.bytes_of(places.tolist())
        return self.replay.facts(self.memory, self.new, size)

    def _pixel_orders(self) -> Callable | None:
        if not self.scenario.permute:
            return None
        image = (self.source.images[0] if self.whole_batches else
                 self.source[0]['inputs'])
        return PixelOrders(self.scenario, image[0].numel())

    @property
    def metainfo(self) -> dict:
        """The source's meta information with the channels' names."""
        info = dict(self.source.metainfo)
        names = info.get('classes') or ()
        if self.scenario.data:
            own = next((i for i, s in enumerate(self.source_of_part)
                        if s is None), None)
            first = self.scenario.num_classes - len(self.scenario.names)
            names = map(str, range(first)) if own is None else \
                self.source.names[own]
        info['classes'] = self.scenario.class_names(tuple(names), self.step)
        return info

    def __len__(self) -> int:
        return len(self.image_ids)

    @property
    def __getitems__(self) -> Callable | None:
        """What PyTorch fetches a batch by; None: sample by sample."""
        return self._batch if self.whole_batches else None

    def __getitem__(self, key: int | Sequence) -> dict:
        """Return a sample by its index, or by ``(index, epoch)``."""
        if self.whole_batches:
            return {name: v[0] for name, v in self._batch([key]).items()}
        index, epoch = key if isinstance(key, Sequence) else (key, 0)
        with seeded(self.seed, epoch, index):
            data = self.source[int(self.image_ids[index])]
        place = self.tasks[[index]], self.image_ids[[index]]
        data['data_samples'].set_gt_label(int(self.channels[index]))
        data['data_samples'].set_field(int(self.tasks[index]), 'task')
        if self.levels is not None:
            data['inputs'] = self.levels(data['inputs'][None], *place)[0]
        if self.pixels is not None:
            data['inputs'] = self.pixels(data['inputs'][None], place[0])[0]
        return data

    @cached_property
    def _images(self) -> tuple[torch.Tensor, torch.Tensor, Callable | None]:
        """Images in memory, the place of every sample among them, and what
        remains to be done to the pixels of a batch.

        Images of one task (and a memory), which training looks at epoch by
        epoch, are permuted once; those of many tasks would need the room of
        as many.
        """
        images, places = self.source.images, self.image_ids
        alone = self.pixels is not None and \
            self.tasks[:self.new].unique().numel() == 1
        if self.levels is None and not alone:
            return images, places, self.pixels
        # by numpy, in a quarter of torch's time
        images = torch.from_numpy(images.numpy()[places.numpy()])
        if self.levels is not None:
            images = self.levels(images, self.tasks, places)
        if alone:
            images = self.pixels(images, self.tasks)
        return (images, torch.arange(len(places)),
                None if alone else self.pixels)

    def _batch(self, keys: Sequence) -> dict:
        keys = np.asarray(keys)  # (B,) or (B, 2)
        indices, epochs = (keys, 0) if keys.ndim == 1 else keys.T
        chosen = torch.from_numpy(indices)
        images, places, pixels = self._images
        tasks, place, channels = (
            x.index_select(0, chosen)
            for x in (self.tasks, places, self.channels))
        inputs = images.index_select(0, place)
        if pixels is not None:
            inputs = pixels(inputs, tasks)
        if self.augment:
            inputs = self._augmented(inputs, indices, epochs)
        return dict(
            inputs=inputs,
            data_samples=BatchSamples(channels, tasks))

    def _augmented(self, inputs: torch.Tensor, indices: np.ndarray,
                   epochs: np.ndarray | int) -> torch.Tensor:
        draws = [t.draws for t in self.augment]
        uniforms = torch.from_numpy(
            counter_uniforms(self.seed, epochs, indices, sum(draws)))
        shares = uniforms.split(draws, dim=1)
        for transform, share in zip(self.augment, shares, strict=True):
            inputs = transform(inputs, share)
        return inputs


def replayed_samples(labels: np.ndarray, parts: np.ndarray,
                     images: Callable[[int], np.ndarray],
                     scenario: ClassificationScenario, step: int,
                     replay: Replay) -> list[Sample]:
    """Images that a step replays, named by step and place.

    The class of an image is its channel, or its domain. ``images`` are those
    that may train a step.
    """
    steps = []
    for s in range(step):
        left = [s] if scenario.has_data(s, 'train') else []
        chosen, _ = select_samples(labels, parts, images(s), scenario, left)
        units = np.full(len(chosen), s) if scenario.kind == 'domain' else \
            scenario.channel_table(s)[labels[chosen]]
        shown = {u: frozenset([u]) for u in np.unique(units).tolist()}
        steps.append([
            Sample(f'{s}/{image}', s, shown[unit]) for image, unit in zip(
                chosen.tolist(), units.tolist(), strict=True)
        ])
    return replay.choose(steps)
