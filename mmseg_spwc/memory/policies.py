"""Which samples of the past are kept.

A policy sees the samples of one step after the other and keeps ``size`` of
them. What it keeps is a function of names, classes and seed alone, so it is
computed where it is needed and never stored.
"""
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np


class Sample(NamedTuple):
    """A sample as a policy sees it."""
    name: str  # only one sample of each name is kept
    step: int  # that it trained
    classes: frozenset[int]  # that its labels show, without the background


Steps = Sequence[Iterable[Sample]]


def remember(steps: Steps, size: int, policy: str,
             seed: int = 0) -> list[Sample]:
    """The memory after some steps, oldest first: at most ``size`` samples.

    They are sorted by step, then by name.
    """
    shuffled = []
    for step, samples in enumerate(steps):
        ordered = sorted(samples, key=lambda sample: sample.name)
        rng = np.random.default_rng((seed, step))
        shuffled.append(
            ([ordered[i] for i in rng.permutation(len(ordered))], rng))
    kept = POLICIES[policy](shuffled, size)
    return sorted(kept, key=lambda sample: (sample.step, sample.name))


def round_robin(steps: list, size: int) -> list[Sample]:
    """Let the classes take turns, in random order, at choosing a sample.

    After every step the classes choose again, among what was kept and what is
    new. The choices are balanced, not what the samples show: many samples also
    show a frequent class.
    """
    kept: list[Sample] = []
    for new, rng in steps:
        kept = _without_repeats([*kept, *new])
        candidates = [kept[i] for i in rng.permutation(len(kept))]
        queues = defaultdict(list)
        for sample in candidates:
            for c in sample.classes:
                queues[c].append(sample)
        order = rng.permutation(sorted(queues)).tolist()
        chosen: dict[str, Sample] = {}
        turns = [iter(queues[c]) for c in order]
        while turns and len(chosen) < size:
            turns = [turn for turn in turns if _take(turn, chosen, size)]
        kept = list(chosen.values())
    return kept


def _take(turn: Iterable[Sample], chosen: dict, size: int) -> bool:
    """Choose the next sample of a class; whether there was one."""
    for sample in turn if len(chosen) < size else ():
        if sample.name not in chosen:
            chosen[sample.name] = sample
            return True
    return False


def balanced(steps: list, size: int) -> list[Sample]:
    """Keep about as many samples of every class.

    A sample counts for the rarest of its classes. Once the memory is
    full, one of a class that has less than its share displaces a random one
    of the class that has most.
    """
    booked: dict[int, list[Sample]] = defaultdict(list)
    names: set[str] = set()
    for new, rng in steps:
        for c in sorted({c for sample in new for c in sample.classes}):
            booked[c]  # a class counts from the first sample of its step on
        for sample in new:
            if sample.name in names:
                continue
            place = min(sample.classes, key=lambda c: (len(booked[c]), c))
            if len(names) >= size:
                if len(booked[place]) >= size / len(booked):
                    continue
                fullest = booked[max(booked, key=lambda c: len(booked[c]))]
                gone = fullest.pop(int(rng.integers(len(fullest))))
                names.remove(gone.name)
            booked[place].append(sample)
            names.add(sample.name)
    return [sample for samples in booked.values() for sample in samples]


def reservoir(steps: list, size: int) -> list[Sample]:
    """Keep every sample so far with the same probability."""
    kept: list[Sample] = []
    count = 0
    for new, rng in steps:
        names = {sample.name for sample in kept}
        new = [sample for sample in new if sample.name not in names]
        places = rng.integers(count + 1 + np.arange(len(new)))
        for sample, place in zip(new, places.tolist(), strict=True):
            if len(kept) < size:
                kept.append(sample)
            elif place < size:
                kept[place] = sample
        count += len(new)
    return kept


def _without_repeats(samples: Iterable[Sample]) -> list[Sample]:
    """The first sample of every name."""
    first: dict[str, Sample] = {}
    for sample in samples:
        first.setdefault(sample.name, sample)
    return list(first.values())


POLICIES: dict[str, Callable] = dict(
    round_robin=round_robin, balanced=balanced, reservoir=reservoir)
