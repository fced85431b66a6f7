"""Which samples of earlier steps a step's dataset replays."""
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from mmseg_spwc.memory import Replay, Sample
from mmseg_spwc.scenario import (
    ClassificationScenario,
    SegmentationScenario,
    select_samples,
)

from .labelled_images import LabelledImages


def replay_of(options: Mapping | None, role: str,
              cumulative: bool) -> Replay | None:
    """Read the option ``replay`` of a step's dataset."""
    if options is None:
        return None
    if role != 'train' or cumulative:
        raise ValueError('replay is for the training images of one step: '
                         'leave it out where all steps are trained together '
                         '(cumulative) and where nothing is trained.')
    return Replay.of(options)


def replayed_images(sources: Iterable[LabelledImages],
                    scenario: SegmentationScenario, step: int,
                    heldout: Mapping | None, replay: Replay) -> list[Sample]:
    """Images to segment that a step replays, of the datasets that are left.

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


def replayed_samples(labels: np.ndarray, parts: np.ndarray,
                     images: Callable[[int], np.ndarray],
                     scenario: ClassificationScenario, step: int,
                     replay: Replay) -> list[Sample]:
    """Images to classify that a step replays, named by step and place.

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


def labelled_channels(scenario: SegmentationScenario, step: int,
                      labels: str = 'current',
                      image_step: int = 0) -> tuple[int, int]:
    """First of the channels that an image's labels name, and their end.

    Args:
        scenario: What is learnt when.
        step: The step that trains on the image.
        labels: See :class:`mmseg_spwc.memory.Replay`; ``'current'`` for an
            image of the step itself.
        image_step: The step that a replayed image comes from.
    """
    if scenario.kind == 'domain':
        return 0, scenario.num_channels(step)
    named = image_step if labels == 'stored' else step
    alone = labels != 'seen' and scenario.setting != 'sequential'
    first = scenario.num_channels(named - 1) if alone and named else 1
    return first, scenario.num_channels(named)


def replay_facts(replay: Replay, memory: Sequence[Sample], new: int,
                 size: int | None) -> dict:
    """What the record tells of a step's memory, of ``size`` bytes."""
    return dict(
        images=len(memory), share=len(memory) / (len(memory) + new),
        bytes=size, policy=replay.policy, labels=replay.labels,
        names=[sample.name for sample in memory],
        steps=[sample.step for sample in memory])
