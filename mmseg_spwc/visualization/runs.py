"""Runs, read from their records and put together for comparison."""
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from mmseg_spwc.errors import RecordError
from mmseg_spwc.record import Record, inside


@dataclass(frozen=True)
class Run:
    """One run: its record, whose words are data, and where it is."""
    record: Record
    folder: Path
    trust: bool = False  # whether the user vouches for who wrote it

    def inside(self, name: str) -> Path:
        """A file that the record names; it must be in the run's folder."""
        return self.folder / name if self.trust else inside(
            self.folder, name, 'add --trust if you trust who wrote it')

    @property
    def seed(self) -> int:
        return self.record.content['run']['seed']

    @property
    def finished(self) -> bool:
        return self.record.content['status'] == 'finished'

    @property
    def method(self) -> str:
        return self.record.content['method']


@dataclass(frozen=True)
class Group:
    """The runs of one method that differ in their seed only."""
    key: str  # short, unique, and safe in HTML and in file names
    label: str  # text of the records, not escaped
    index: int  # its place, which decides colour and marker
    runs: tuple  # ordered by seed

    @property
    def records(self) -> list[Record]:
        return [run.record for run in self.runs]

    @property
    def last_step(self) -> int:
        """The last step that any of the runs has finished; -1 if none."""
        return max((s for r in self.records for s in r.finished_steps),
                   default=-1)

    @property
    def furthest(self) -> list[Record]:
        """The records that hold the last step; only these are comparable."""
        return [r for r in self.records
                if r.steps and r.finished_steps[-1] == self.last_step]

    def run_label(self, run: Run) -> str:
        """The label of one run, with its seed where that tells it apart."""
        if len(self.runs) == 1:
            return self.label
        return f'{self.label}, seed {run.seed}'


@dataclass(frozen=True)
class Comparison:
    """Everything that was run on one scenario."""
    title: str
    groups: tuple

    @property
    def runs(self) -> list[Run]:
        return [run for group in self.groups for run in group.runs]

    @property
    def steps(self) -> list[int]:
        """The steps that any run has finished."""
        return sorted(
            {s for run in self.runs for s in run.record.finished_steps})

    @property
    def example(self) -> Record:
        """The record that has got furthest."""
        return max((run.record for run in self.runs),
                   key=lambda r: (r.finished_steps[-1:], len(r.steps)))


def load_runs(paths: Sequence[str | Path],
              trust: bool = False) -> tuple[list[Run], list[str]]:
    """Read the records of folders, or of record.json files.

    Also returns a message for each that cannot be read. None at all is a
    RecordError.
    """
    runs, problems = [], []
    for path in dict.fromkeys(map(Path, paths)):
        try:
            record = Record.read(path)
        except RecordError as error:
            problems.append(str(error))
        else:
            folder = path if path.is_dir() else path.parent
            runs.append(Run(record, folder, trust))
    if not runs:
        raise RecordError(' '.join(problems) or 'No run was given.')
    return runs, problems


def compare(runs: Sequence[Run]) -> list[Comparison]:
    """Put runs together by scenario, and there by method.

    Runs of one method and scenario are seeds of it. Where a seed occurs
    twice, the runs differ in something else and are kept apart by their
    names, or by their folders. The order stays.
    """
    comparisons, number = [], 0
    buckets = _split(runs, _scenario_key)
    titles = [_scenario_title(members[0]) for members in buckets.values()]
    for title, members in zip(titles, buckets.values(), strict=True):
        groups = []
        for label, seeds in _refine(members, _names(members)).items():
            ordered = tuple(sorted(seeds, key=lambda run: run.seed))
            groups.append(Group(f'g{number}', label, len(groups), ordered))
            number += 1
        if titles.count(title) > 1:
            mark = members[0].record.content['scenario']['hash'][:8]
            title = f'{title} ({mark})'
        comparisons.append(Comparison(title, tuple(groups)))
    return comparisons


def _scenario_key(run: Run) -> str:
    """What runs must share to stand in one table.

    Tasks of a classification may be dealt out by the seed; classes of a
    segmentation have columns of their own, so their order counts.
    """
    names = ['dataset', 'name', 'setting', 'kind']
    if run.record.problem == 'segmentation':
        names.append('steps')
    scenario = run.record.content['scenario']
    return json.dumps([run.record.problem, *map(scenario.get, names)])


def _scenario_title(run: Run) -> str:
    scenario = run.record.content['scenario']
    parts = [scenario.get(k) for k in ('dataset', 'name', 'setting')]
    parts.append('domains' * (scenario.get('kind') == 'domain'))
    return ' '.join(str(part) for part in parts if part) or 'scenario'


def self_paced_options(record: Record) -> dict:
    """The options of spWC; none without it."""
    return next((entry['self_paced'] for entry in record.steps
                 if entry.get('self_paced')), {})


def _names(runs: Sequence[Run]) -> list[Callable[[Run], str]]:
    """Names for the method of a run, each more specific than the last."""

    def options(run: Run) -> str:
        """The options of spWC in which runs of the method differ."""
        alike = [self_paced_options(r.record) for r in runs
                 if r.method == run.method]
        return ', '.join(
            f'{key}={value}'
            for key, value in self_paced_options(run.record).items()
            if any(other.get(key) != value for other in alike))

    details = (lambda run: '', options,
               lambda run: run.record.content['run']['name'],
               lambda run: run.folder.name, lambda run: run.folder)
    return [lambda run, detail=detail: f'{run.method} ({detail(run)})'
            .removesuffix(' ()') for detail in details]


def _refine(runs: Sequence[Run], names: Sequence) -> dict[str, list]:
    """Split by the first name; where seeds repeat, by the next ones."""
    groups = {}
    for label, members in _split(runs, names[0]).items():
        seeds = [run.seed for run in members]
        if len(set(seeds)) == len(seeds) or len(names) == 1:
            groups[label] = members
        else:
            groups.update(_refine(members, names[1:]))
    return groups


def _split(runs: Sequence[Run], key: Callable) -> dict[str, list]:
    parts: dict[str, list] = {}
    for run in runs:
        parts.setdefault(key(run), []).append(run)
    return parts
