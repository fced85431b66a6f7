"""Which image belongs to which step, decided by image names alone.

An index maps the name of every image to the set of raw label values in its
mask (255 may be among them). All functions are pure: equal indices give equal
lists, in whatever order the index was built. ``labels`` is what the values of
the dataset mean, by default the ids of the config's.
"""
import hashlib
import os.path
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Set

from .checks import check_ratio
from .segmentation_scenario import SegmentationScenario as Scenario
from .step_data import LabelMap

Index = Mapping[str, Set[int]]


def select_train(index: Index,
                 scenario: Scenario,
                 t: int,
                 heldout: Iterable[str] = frozenset(),
                 labels: LabelMap | None = None) -> list[str]:
    """Images that train step t, sorted, without those held out.

    All settings ask for at least one new class. ``disjoint`` and
    ``sequential`` refuse images with a class of a later step; ``partitioned``
    gives an image to the step with the fewest candidates among those whose
    classes it holds (the earlier one of two equals), so that steps with few
    images get enough. A scenario of domains takes the step's domains less
    :func:`test_part`.
    """
    scenario.check_step(t)
    if scenario.kind == 'domain':
        names = _of_domains(index, scenario, scenario.steps[t])
        names -= test_part(names, scenario)
    else:
        labels = labels or scenario.label_map()
        names = _holding(index, labels.values(scenario.steps[t]),
                         _refused(index, scenario, t, labels))
    names.difference_update(heldout)
    if not names:
        raise ValueError(
            f'No training image for step {t} ({scenario.kind} '
            f'{", ".join(scenario.called(t))}) of scenario '
            f'{scenario.dataset} {scenario.name}, {scenario.setting}: check '
            'the data, hold out fewer images or change the steps.')
    return sorted(names)


def select_test(index: Index, scenario: Scenario, t: int,
                labels: LabelMap | None = None) -> list[str]:
    """Images that test the model after step t, sorted.

    These hold at least one seen foreground class. In a scenario of domains
    they are the :func:`test_part` of the seen domains, or all their images
    where the scenario keeps no test part of its own.
    """
    names = _seen(index, scenario, t, labels)
    if scenario.test_ratio:
        names &= test_part(names, scenario)
    return sorted(names)


def select_heldout(heldout: Iterable[str], index: Index, scenario: Scenario,
                   t: int, labels: LabelMap | None = None) -> list[str]:
    """Held-out images with a class (of a domain) seen by step t, sorted."""
    missing = sorted(set(heldout) - index.keys())
    if missing:
        raise ValueError(f'The held-out image {missing[0]} is not in the '
                         'index: hold out images of the same index.')
    return sorted(_seen({n: index[n] for n in heldout}, scenario, t, labels))


def hold_out(index: Index,
             scenario: Scenario,
             ratio: float = 0.1,
             seed: int = 0,
             labels: LabelMap | None = None) -> frozenset[str]:
    """Training images of a dataset set aside for measuring, once for all.

    The draw is stratified by the rarest foreground class of an image, learnt
    or not, or by its domain. Each stratum gives about ``ratio`` of its
    images; one of two or more gives at least one and keeps at least one.
    """
    strata = defaultdict(list)
    if scenario.kind == 'domain':
        domains = [d for step in scenario.steps for d in step]
        pool = _of_domains(index, scenario, domains)
        for name in pool - test_part(pool, scenario):
            strata[domain_of(name, scenario)].append(name)
    else:
        shown = (labels or scenario.label_map()).foreground()
        pool = {n: shown.intersection(index[n])
                for n in _holding(index, shown)}
        count = Counter(value for values in pool.values() for value in values)
        for name, values in pool.items():
            rarest = min(values, key=lambda value: (count[value], value))
            strata[rarest].append(name)
    return _draw(strata.values(), ratio, seed)


def test_part(names: Iterable[str],
              scenario: Scenario,
              seed: int = 0) -> frozenset[str]:
    """Images of each domain that only test; empty without ``test_ratio``.

    Every domain's part depends on the names of that domain alone, not on the
    step, so that no image tested at a later step has been trained on before.
    Training and test therefore have to use one index of all images.
    """
    strata = defaultdict(list)
    for name in names if scenario.test_ratio else ():
        strata[domain_of(name, scenario)].append(name)
    return _draw(strata.values(), scenario.test_ratio, seed)


def domain_of(name: str, scenario: Scenario) -> str:
    """Domain of an image, found in its base name."""
    match = re.search(scenario.domain_pattern, os.path.basename(name))
    if match is None or match[1] is None:
        raise ValueError(
            f'No domain in the image name {name!r}: domain_pattern '
            f'{scenario.domain_pattern!r} does not match its base name.')
    return match[1]


def _holding(index: Index,
             wanted: frozenset[int],
             refused: frozenset[int] = frozenset()) -> set[str]:
    """Images with some wanted and no refused label."""
    return {
        name
        for name, labels in index.items()
        if not wanted.isdisjoint(labels) and refused.isdisjoint(labels)
    }


def _of_domains(names: Iterable[str], scenario: Scenario,
                domains: Iterable[str]) -> set[str]:
    domains = set(domains)
    return {n for n in names if domain_of(n, scenario) in domains}


def _seen(index: Index, scenario: Scenario, t: int,
          labels: LabelMap | None) -> set[str]:
    scenario.check_step(t)
    if scenario.kind == 'domain':
        domains = [d for step in scenario.steps[:t + 1] for d in step]
        return _of_domains(index, scenario, domains)
    labels = labels or scenario.label_map()
    return _holding(index, labels.values(
        {*scenario.seen_classes(t)} - {0}))


def _draw(strata: Iterable[list[str]], ratio: float,
          seed: int) -> frozenset[str]:
    """Take ``ratio`` of each stratum, in the order of a hash of the names."""
    check_ratio(ratio)

    def lot(name: str) -> bytes:
        return hashlib.sha256(f'{seed}:{name}'.encode()).digest()

    drawn = set()
    for names in strata if ratio else ():
        count = max(1, round(ratio * len(names)))
        drawn.update(sorted(names, key=lot)[:min(count, len(names) - 1)])
    return frozenset(drawn)


def _refused(index: Index, scenario: Scenario, t: int,
             labels: LabelMap) -> frozenset[int]:
    """Labels that keep an image out of step t."""
    if scenario.setting == 'overlapped':
        return frozenset()
    wanted = [labels.values(step) for step in scenario.steps]
    if scenario.setting != 'partitioned':
        return frozenset().union(*wanted[t + 1:])
    # labels of the steps that come before t when an image is dealt out
    rank = [(-sum(map(w.isdisjoint, index.values())), s)
            for s, w in enumerate(wanted)]  # few candidates first
    return frozenset().union(*(w for w, r in zip(wanted, rank, strict=True)
                               if r < rank[t]))
