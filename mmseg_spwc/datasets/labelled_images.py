"""An mmseg dataset, what its masks hold, and which image plays which role."""
import dataclasses
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from mmseg_spwc.errors import WHERE
from mmseg_spwc.memory import Replay, Sample
from mmseg_spwc.registry import DATASETS
from mmseg_spwc.scenario import (
    Scenario,
    hold_out,
    select_heldout,
    select_test,
    select_train,
)

from .class_index import load_class_index

NO_IMAGE = ('The dataset {} holds no image. Check data_root, ann_file and '
            'img_suffix.')
NO_DATA = '{} is missing. Put the dataset into {}, ' + WHERE


class LabelledImages:
    """The images of one dataset of mmseg, or of several in a row.

    ``source`` is the step whose own data they are, if they are one's. The
    ``index`` has the label values of every image, by name, without void;
    ``labels`` say what they mean.
    """

    def __init__(self, config: dict, scenario: Scenario,
                 source: int | None = None,
                 cache_dir: str | None = None) -> None:
        self.config, self.scenario, self.source = config, scenario, source
        self.dataset = build_source(config)
        infos = [self.dataset.get_data_info(i)
                 for i in range(len(self.dataset))]
        if not infos:
            raise ValueError(NO_IMAGE.format(config.get('type')))
        self._check_form(infos[0])
        names = self.dataset.metainfo.get('classes') or ()
        scenario.check_names(names)
        if source is None:  # that every id has a name
            scenario.class_names(names, scenario.num_steps - 1)
        self.labels = scenario.label_map(source, names)
        if scenario.data:
            scenario.check_labelled(source, self.labels, names)
        index = load_class_index(infos, find_key(config, 'data_root'),
                                 cache_dir)
        self.index = {n: v - self.labels.void for n, v in index.items()}
        for name, values in self.index.items():
            scenario.check_labels(values, name, self.labels)

    def _check_form(self, info: Mapping) -> None:
        own = self.source is not None and self.scenario.data[self.source]
        labelled = bool(own) and own.labels is not None
        if info.get('label_map') and (labelled or not self.scenario.names):
            raise ValueError(
                'The dataset restricts its classes by metainfo. Name the '
                "classes in the scenario (steps=[dict(classes=['car']), ...]) "
                'and leave labels out, or give the ids of a dataset with all '
                'its classes.')
        if not info.get('reduce_zero_label'):
            return
        if labelled:
            raise ValueError(
                'reduce_zero_label=True changes the values that labels '
                'speak of: leave it out, and name value 0 (as void or '
                'background).')
        if self.scenario.has_background and not self.scenario.names and \
                not self.scenario.label_offset:
            raise ValueError(
                'reduce_zero_label=True makes value 1 of the masks 0, which '
                'is the background of the scenario, so that every label '
                'would mean the class before: set scenario.label_offset=1, '
                'or reduce_zero_label=False where 0 is background.')

    @property
    def prefix(self) -> str:
        """A prefix that tells its images from those of another dataset."""
        return '' if self.source is None else f'step_{self.source}/'

    def held_out(self, heldout: Mapping | None) -> frozenset[str]:
        """Names of the images that only score."""
        return hold_out(self.index, self.scenario, labels=self.labels,
                        **heldout) if heldout else frozenset()

    def trained(self, step: int, held: frozenset[str]) -> list[str]:
        """Names of the images that train a step."""
        return select_train(self.index, self.scenario, step, held,
                            self.labels)

    def choose(self, step: int, role: str, heldout: Mapping | None = None,
               cumulative: bool = False) -> set[str]:
        """Return the names of the images that play ``role`` at ``step``."""
        index, scenario, labels = self.index, self.scenario, self.labels
        if role == 'test':
            return set(select_test(index, scenario, step, labels))
        held = self.held_out(heldout)
        if role == 'heldout':
            return set(select_heldout(held, index, scenario, step, labels))
        steps = scenario.sources(role, step, cumulative)[self.source]
        return {name for t in steps for name in self.trained(t, held)}

    def table(self, step: int, role: str, cumulative: bool = False) -> list:
        """Return the 256 channels of the label values."""
        scenario = self.scenario
        if role != 'train':
            return scenario.test_table(step, self.labels).tolist()
        if cumulative:
            scenario = dataclasses.replace(scenario, setting='sequential')
        return scenario.train_table(step, self.labels, self.source).tolist()


def build_source(config: dict):
    """Build the dataset that a step is cut out of, or say what is missing
    and where it was looked for."""
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


def replayed_images(sources: Iterable[LabelledImages],
                    scenario: Scenario, step: int,
                    heldout: Mapping | None, replay: Replay) -> list[Sample]:
    """Images that a step replays, of the datasets that are left.

    The classes of an image are the channels that the labels of its own step
    name, or its domain.
    """
    steps: list = [[] for _ in range(step + 1)]
    for images in sources:
        held = images.held_out(heldout)
        for s in range(step + 1):
            if scenario.source_of(s) != images.source:
                continue
            table = np.array(images.table(s, 'train'))
            steps[s] = [
                Sample(images.prefix + name, s, frozenset([s])
                       if scenario.kind == 'domain' else
                       frozenset(table[sorted(images.index[name])].tolist())
                       - {0, 255})
                for name in images.trained(s, held)
            ]
    return replay.choose(steps[:step], [sample.name for sample in steps[step]])


def known_meta(config: Mapping | None) -> dict:
    """Meta information that a dataset's config and class tell unbuilt."""
    if not config:
        return {}
    part = (config.get('datasets') or [config])[0]
    load = getattr(DATASETS.get(part['type']), '_load_metainfo', None)
    return load(part.get('metainfo')) if load else {}


def insert_label_map(pipeline: list, table: Sequence) -> list:
    """Insert ``MapLabels`` after the transform that loads the masks."""
    loaders = [
        i for i, t in enumerate(pipeline)
        if str(t['type']).rpartition('.')[2] == 'LoadAnnotations'
    ]
    if not loaders:
        raise ValueError('The pipeline has no LoadAnnotations; a step needs '
                         'the masks to map their labels.')
    where = loaders[-1] + 1
    step = dict(type='mmseg_spwc.MapLabels', table=table)
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
