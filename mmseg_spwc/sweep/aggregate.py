"""What a sweep leaves behind: ``sweep.json``.

Every run, and for every setting mean and deviation over its seeds. The best
setting of a method on a scenario is chosen by the held-out score; test
scores are reported and choose nothing.
"""
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from mmseg_spwc.errors import ConfigError, RecordError
from mmseg_spwc.record import Record
from mmseg_spwc.utils.files import is_inside, read_text, write_text
from mmseg_spwc.visualization.scores import (
    final_score,
    is_classification,
    percent,
    spread,
)

from .sweep_file import check_paper

FILE_NAME = 'sweep.json'
SCHEMA = 'mmseg_spwc.sweep'
VERSION = 1


def held_out_score(record: Record | None) -> float | None:
    """The score that selects: on the held-out slice after the last step, the
    mean IoU over all classes or the mean accuracy over the tasks."""
    kpi = record.steps[-1].get('kpi') if record and record.steps else None
    if kpi is None:
        return None
    return spread(kpi['step' if is_classification(record) else 'class']).mean


def describe_run(record: Record | None) -> dict:
    """Return the scores and the time of a run."""
    finished = record is not None and record.content['status'] == 'finished'
    return dict(
        finished=finished,
        held_out=held_out_score(record) if finished else None,
        test=final_score(record) if finished else None,
        scores=final_scores(record) if finished else {},
        wall_time=sum(s['cost']['wall_time'] for s in record.steps)
        if record else 0.)


def final_scores(record: Record) -> dict:
    """Every score in the end, by the name that a paper's figures have."""
    entry = record.steps[-1]
    classes = {} if is_classification(record) else {
        f'class_{i}': iou for i, iou in zip(
            entry['class_ids'], entry['iou'], strict=True)}
    return {**record.content['summary'], **classes}


def aggregate(name: str, select: str | None, runs: Sequence[Mapping],
              paper: Mapping | None = None) -> dict:
    """Return the content of ``sweep.json``.

    Every run is a dict with ``name``, ``group``, ``method``, ``scenario``,
    ``setting``, ``seed``, ``folder`` and the keys of :func:`describe_run`.
    """
    groups: dict = {}
    for run in runs:
        groups.setdefault(run['group'], []).append(run)
    settings = [_setting(members) for members in groups.values()]
    rivals: dict = {}
    for setting in settings:
        rivals.setdefault((setting['method'], setting['scenario']),
                          []).append(setting)
    for best in filter(None, map(choose, rivals.values())):
        best['best'] = True
    return dict(schema=SCHEMA, version=VERSION, name=name, select=select,
                paper=dict(paper or {}), settings=settings,
                runs=[dict(run) for run in runs])


def _setting(members: Sequence[Mapping]) -> dict:
    done = [run for run in members if run['finished']]
    return dict(
        name=members[0]['group'],
        **{key: members[0][key] for key in ('method', 'scenario', 'setting')},
        seeds=[run['seed'] for run in done],
        missing=[run['seed'] for run in members if not run['finished']],
        held_out=spread([run['held_out'] for run in done])._asdict(),
        test=spread([run['test'] for run in done])._asdict(),
        best=False)


def choose(settings: Sequence[dict]) -> dict | None:
    """Return the setting with the highest held-out mean.

    One with unfinished seeds does not compete with a complete one. A single
    setting needs no score.
    """
    done = [s for s in settings if s['seeds']]
    done = [s for s in done if not s['missing']] or done
    if len(settings) == 1:
        return done[0] if done else None
    known = [s for s in done if s['held_out']['mean'] is not None]
    return max(known, key=lambda s: s['held_out']['mean'], default=None)


def best_lines(content: Mapping) -> list[str]:
    """Which setting was the best of each method that had several."""
    rivals = Counter((s['method'], s['scenario'])
                     for s in content['settings'])
    return [
        f'best of {rivals[s["method"], s["scenario"]]}: {s["name"]}, '
        f'{content["select"]} {percent(s["held_out"]["mean"])}, '
        f'test {percent(s["test"]["mean"])}'
        for s in content['settings']
        if s['best'] and rivals[s['method'], s['scenario']] > 1]


def write_aggregate(content: Mapping, folder: Path) -> None:
    write_text(folder / FILE_NAME, json.dumps(content, indent=1) + '\n')


def is_aggregate(path: str | Path) -> bool:
    """Whether a path is a sweep's folder or its ``sweep.json``."""
    path = Path(path)
    return path.name == FILE_NAME or (path / FILE_NAME).is_file()


def read_aggregate(path: str | Path, trust: bool = False) -> dict:
    """Read and check the ``sweep.json`` of a folder, or a file.

    The folders of its runs are made complete. They may be outside its own only
    with ``trust``.
    """
    path = Path(path)
    path = path / FILE_NAME if path.is_dir() else path
    try:
        content = json.loads(read_text(path))
        if content['schema'] != SCHEMA or content['version'] != VERSION:
            raise RecordError(
                f'{path} is not a sweep of version {VERSION}: use the '
                'release that wrote it.')
        for run in content['runs']:
            folder = path.parent / run['folder']
            if not trust and not is_inside(folder, path.parent):
                raise RecordError(
                    f'{path} names {run["folder"]}, which is outside its '
                    'folder and is not read: add --trust if you trust who '
                    'wrote it.')
            run['folder'] = str(folder)
            _ = [run[key] for key in ('group', 'finished')]
            _ = [float(v or 0) for v in run.setdefault('scores', {}).values()]
        for found in content['settings']:
            _ = [found[key] for key in ('name', 'best', 'method', 'scenario',
                                        'seeds', 'missing')]
            _ = [float(found[score]['mean'] or 0) + float(
                found[score]['sd'] or 0)
                 for score in ('held_out', 'test')]
            _ = found['setting'].items()
        _ = [content[key] for key in ('name', 'select')]
        check_paper(content.setdefault('paper', {}),
                    [s['method'] for s in content['settings']])
    except OSError as error:
        raise RecordError(f'{path} cannot be read: {error.strerror}.'
                          ) from error
    except RecordError:
        raise
    except (AttributeError, ConfigError, LookupError, RecursionError,
            TypeError, ValueError) as error:
        raise RecordError(f'{path} is broken ({error}): run the sweep again, '
                          'which writes it anew.') from error
    return content


def expand_sweeps(paths: Sequence[str | Path],
                  trust: bool = False) -> tuple[list, list]:
    """Put the runs of a sweep's best settings in its place.

    Returns the paths of runs, and the sweeps that were found.
    """
    folders, sweeps = [], []
    for path in paths:
        if not is_aggregate(path):
            folders.append(path)
            continue
        content = read_aggregate(path, trust)
        best = {s['name'] for s in content['settings'] if s['best']}
        folders += [run['folder'] for run in content['runs']
                    if run['group'] in best and run['finished']]
        sweeps.append(content)
    return folders, sweeps
