"""What a run leaves behind: ``record.json`` and ``results.csv``.

The record is rewritten after every step, whole or not at all, and checked
against ``record_schema.json`` on reading. It is also the memory of the
sequence: a step is finished when the record holds it.
"""
import csv
import functools
import io
import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path

import jsonschema

from mmseg_spwc.errors import RecordError, plain
from mmseg_spwc.utils.files import is_inside, read_text, write_text
from mmseg_spwc.utils.own import is_sealed

VERSION = 2
FILE_NAME = 'record.json'
TABLE_NAME = 'results.csv'
# what JSON cannot say of a config: tuples, and keys that are not texts
TUPLE, PAIRS = '__tuple__', '__dict__'


class Record:
    """The record of one run.

    Args:
        content (dict): The record in the form of ``record_schema.json``.
    """

    def __init__(self, content: dict) -> None:
        self.content = content
        self._checked = 0  # steps that are known to be valid

    @classmethod
    def new(cls, problem: str, run: dict, scenario: dict,
            method: str) -> 'Record':
        """Begin the record of a run that has finished no step yet."""
        return cls(dict(
            schema='mmseg_spwc.record', version=VERSION, problem=problem,
            status='running', run=run, scenario=scenario, method=method,
            steps=[], summary={}))

    @classmethod
    def read(cls, path: str | Path) -> 'Record':
        """Read and check a record.

        Args:
            path (str | Path): The file, or the work_dir that holds it.

        Raises:
            RecordError: If it is missing, broken or of another version.
        """
        path = Path(path)
        if path.is_dir():
            path = path / FILE_NAME
        try:
            content = json.loads(read_text(path))
        except FileNotFoundError as error:
            raise RecordError(
                f'There is no record at {path}: a run writes it when its '
                'first step is done.') from error
        except OSError as error:
            raise RecordError(
                f'{path} cannot be read: {error.strerror}. Check its '
                'permissions.') from error
        except (RecursionError, ValueError) as error:
            raise RecordError(
                f'{path} is not JSON ({error}); restore it from a copy or '
                'start the run anew in another work_dir.') from error
        check(content, path)
        _make_plain(content)
        record = cls(content)
        record._checked = len(record.steps)
        return record

    def write(self, folder: str | Path) -> None:
        """Write ``record.json`` and ``results.csv`` into ``folder``.

        Of the steps, only those that are new are checked.
        """
        where = Path(folder) / FILE_NAME
        check(dict(self.content, steps=[]), where)
        for number in range(self._checked, len(self.steps)):
            _check_part(self.steps[number], where, 'step',
                        f'$.steps[{number}]')
        text = json.dumps(self.content, allow_nan=False)
        self._checked = len(self.steps)
        write_text(where, text + '\n')
        write_text(Path(folder) / TABLE_NAME, self.to_csv())

    def add_step(self, entry: dict, summary: dict) -> None:
        """Append a finished step and renew the summary of the run."""
        self.content['steps'].append(entry)
        self.content['summary'] = summary

    def finish(self) -> None:
        self.content['status'] = 'finished'

    @property
    def config(self) -> dict:
        """The config of the run; it is read, not executed."""
        try:
            return json.loads(self.content['run']['config'],
                              object_hook=_unmarked)
        except (RecursionError, TypeError, ValueError) as error:
            raise RecordError('The config in the record is not JSON as this '
                              f'mmseg_spwc writes it ({error}).') from error

    @property
    def is_own(self) -> bool:
        """Whether its config is one that this user has run."""
        run = self.content['run']
        return is_sealed(run['config'], run.get('seal'))

    @property
    def problem(self) -> str:
        """``'segmentation'`` or ``'classification'``."""
        return self.content['problem']

    @property
    def steps(self) -> list:
        return self.content['steps']

    @property
    def finished_steps(self) -> list:
        return [s['step'] for s in self.steps]

    def step(self, step: int) -> dict:
        """Return the entry of one step."""
        for entry in self.steps:
            if entry['step'] == step:
                return entry
        raise RecordError(f'The record holds no step {step}, only '
                          f'{self.finished_steps}.')

    def to_csv(self) -> str:
        """One row per step: means, then every class or every task."""
        table = _task_table if self.problem == 'classification' else \
            _class_table
        buffer = io.StringIO()
        writer = csv.writer(buffer, lineterminator='\n')
        for row in table(self.steps):
            writer.writerow([_cell(value) for value in row])
        return buffer.getvalue()


def _make_plain(content: dict) -> None:
    """Escape commands to a terminal in the texts that tools print."""
    content['method'] = plain(content['method'])
    for part in (content['run'], content['scenario']):
        for key in part.keys() - {'config'}:
            if isinstance(part[key], str):
                part[key] = plain(part[key])
    for entry in content['steps']:
        entry['classes'] = [plain(name) for name in entry['classes']]
        if entry.get('accepted'):
            entry['accepted']['reason'] = plain(entry['accepted']['reason'])


def _class_table(steps: list) -> list:
    names = max((s['classes'] for s in steps), key=len, default=[])
    means = ('base', 'base_no_bg', 'new', 'all', 'all_no_bg')
    header = [
        'step', *(f'mIoU_{m}' for m in means), 'pixel_accuracy', 'wall_time',
        *names
    ]
    rows = [[
        s['step'], *(s['miou'].get(m) for m in means), s['pixel_accuracy'],
        s['cost']['wall_time'], *_padded(s['iou'], len(names))
    ] for s in steps]
    return [header, *rows]


def _task_table(steps: list) -> list:
    tasks = max((len(s['accuracy_by_step']) for s in steps), default=0)
    header = [
        'step', 'accuracy_mean', 'accuracy_all', 'wall_time',
        *(f'task_{t}' for t in range(tasks))
    ]
    rows = [[
        s['step'], s['accuracy']['mean'], s['accuracy']['all'],
        s['cost']['wall_time'], *_padded(s['accuracy_by_step'], tasks)
    ] for s in steps]
    return [header, *rows]


def _padded(values: list, length: int) -> list:
    return [*values, *[None] * (length - len(values))]


def _cell(value: float | int | str | None) -> str:
    if value is None:
        return ''
    return f'{value:.6g}' if isinstance(value, float) else str(value)


def inside(folder: str | Path, name: str,
           advice: str = 'use the run as a whole') -> Path:
    """A file that the record of a folder names; it must be in there."""
    path = Path(folder, name)
    if not is_inside(path, folder):
        raise RecordError(f'The record of {folder} names {name}, which is '
                          f'outside its folder and is not read: {advice}.')
    return path


def config_text(config: Mapping) -> str:
    """A config as JSON, from which :attr:`Record.config` makes it again."""
    return json.dumps(_marked(config), default=_name)


def _marked(value: object) -> object:
    if isinstance(value, Mapping):
        pairs = [[_marked(k), _marked(v)] for k, v in value.items()]
        plain = all(isinstance(k, str) for k in value)
        return dict(pairs) if plain else {PAIRS: pairs}
    if isinstance(value, (list, tuple)):
        items = [_marked(v) for v in value]
        return items if isinstance(value, list) else {TUPLE: items}
    return value


def _unmarked(value: dict) -> object:
    if value.keys() == {TUPLE}:
        return tuple(value[TUPLE])
    return dict(value[PAIRS]) if value.keys() == {PAIRS} else value


def _name(value: object) -> str:
    """Where a class or function is found, by which MMEngine builds it."""
    if hasattr(value, '__qualname__'):
        return f'{value.__module__}.{value.__qualname__}'
    return str(value)


def check(content: dict, where: str | Path) -> None:
    """Raise :class:`RecordError` unless ``content`` is a valid record."""
    if not isinstance(content, dict) or \
            content.get('schema') != 'mmseg_spwc.record':
        raise RecordError(f'{where} is not a record of mmseg_spwc.')
    if content.get('version') != VERSION:
        raise RecordError(
            f'{where} has record version {content.get("version")}, this '
            f'mmseg_spwc reads version {VERSION}: use the release that wrote '
            'it.')
    _check_part(content, where)
    for number, entry in enumerate(content['steps']):
        for lists in _alike(entry):
            if len({len(values) for values in lists.values()}) > 1:
                raise RecordError(
                    f'{where} is not a valid record: at $.steps[{number}]: '
                    f'{", ".join(lists)} differ in length.')


def _alike(entry: Mapping) -> Iterator[dict]:
    """Lists of an entry with one value for each of the same things, by name.
    """
    kpi = (entry.get('kpi') or {}).get('class')
    yield {'classes': entry['classes'], **{
        key: entry[key] for key in ('class_ids', 'iou') if key in entry},
        **({'kpi.class': kpi} if kpi else {})}
    paced = entry.get('priority') or {}
    yield {key: paced[key] for key in ('psi', 'eta', 'v') if key in paced}
    curves = entry.get('curves')
    if curves:
        yield dict(curves['losses'], iterations=curves['iterations'])


def _check_part(content: dict, where: str | Path, part: str | None = None,
                place: str = '$') -> None:
    error = jsonschema.exceptions.best_match(
        _validator(part).iter_errors(content))
    if error is not None:
        raise RecordError(
            f'{where} is not a valid record: at '
            f'{place}{error.json_path[1:]}: {error.message}')


@functools.cache
def _validator(part: str | None = None) -> jsonschema.Draft202012Validator:
    """Of a whole record, or of one of the parts that the schema defines."""
    text = Path(__file__).with_name('record_schema.json').read_text()
    schema = json.loads(text)
    if part:
        schema = {'$ref': f'#/$defs/{part}', '$defs': schema['$defs']}
    kind = jsonschema.validators.extend(
        jsonschema.Draft202012Validator, dict(items=_items))
    return kind(schema)


def _items(validator, items: dict, instance: object,
           schema: dict) -> Iterator[jsonschema.ValidationError]:
    """``items``, quick for long lists of numbers.

    The schema asks for types and ranges only, so that such a list is valid if
    its least, greatest and one broken number are. Whatever else there is goes
    the long way, number by number.
    """
    some = _extremes(instance) if isinstance(instance, list) else None
    if some is None or any(
            True for x in some for _ in validator.descend(x, items)):
        usual = jsonschema.Draft202012Validator.VALIDATORS['items']
        yield from usual(validator, items, instance, schema)


def _extremes(values: list) -> list | None:
    """Those of a list of numbers and None; None for any other list."""
    kinds = set(map(type, values))
    if not kinds <= {int, float, type(None)}:
        return None
    numbers = [x for x in values if x is not None]
    some = [None] if len(numbers) < len(values) else []
    if not numbers:
        return some
    if not math.isfinite(sum(numbers)):  # nothing is less than NaN
        return None
    broken = next((x for x in numbers if x % 1), numbers[0])
    return [*some, min(numbers), max(numbers), broken]
