"""Pages that need no network: the report, and a slider over the steps."""
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import jinja2
import numpy as np
from markupsafe import Markup
from plotly.offline import get_plotlyjs

from ..gallery import Gallery, label_map, photo
from ..palette import colour
from ..runs import Comparison, Group
from ..scores import Spread
from ..step_report import accepted_line
from ..tables import (
    Column,
    change_table,
    comparison_table,
    headlines,
    paper_table,
)
from .charts import (
    class_charts,
    cost_charts,
    forgetting_charts,
    loss_charts,
    priority_charts,
    scenario_charts,
    score_charts,
)

TEMPLATES = Path(__file__).with_name('templates')
# name, heading, charts, what to read in them, what to say where none are
SECTIONS = (
    ('scenario', 'What is learnt when', scenario_charts,
     'Every row is a class, or a step of many classes; it is deep blue at '
     'the step that brings it.', 'The records do not tell the steps.'),
    ('steps', 'Scores by step', score_charts,
     'Test score over everything learnt so far. Bands are one standard '
     'deviation over seeds.', ''),
    ('classes', 'Every class or step over the steps', class_charts,
     'A row that darkens from left to right is one that is forgotten.',
     'No run has finished a step.'),
    ('forgetting', 'Forgetting', forgetting_charts,
     'Points by which what a step brought is below its best, after each '
     'later step.', 'No run has finished two steps.'),
    ('priority', 'Priority weights', priority_charts,
     'The weight v that spWC gave to every old class or step; hover for '
     'psi, eta and mu.', 'No run here uses spWC.'),
    ('losses', 'Loss terms', loss_charts,
     'Over the iterations of the whole sequence; dotted lines are the ends '
     'of steps, where all runs share them.',
     'The records hold no loss curves.'),
    ('cost', 'Time and memory', cost_charts,
     'They depend on the machine: compare runs of the same one only.', ''),
)


def _filled(name: str, script: str | None = None, **values) -> str:
    """A template with values, all of them escaped, and its script."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES), autoescape=True,
        trim_blocks=True, lstrip_blocks=True,
        undefined=jinja2.StrictUndefined)
    # only files of this package are taken as they are
    return environment.get_template(name).render(
        style=Markup((TEMPLATES / 'style.css').read_text()),
        script=Markup((TEMPLATES / script).read_text()) if script else '',
        **values)


def render(comparisons: Sequence[Comparison],
           galleries: Mapping[str, Gallery] | None = None,
           problems: Sequence[str] = (),
           sweeps: Sequence[Mapping] = ()) -> str:
    """Return the page: HTML, with plotly.js inside.

    Galleries are by the title of their comparison; ``problems`` tells what
    could not be read; ``sweeps`` holds each ``sweep.json`` whose best runs are
    compared.
    """
    parts = [_part(c, (galleries or {}).get(c.title) or Gallery())
             for c in comparisons]
    return _filled(
        'page.html', 'page.js', parts=parts, colour=colour,
        sweeps=[(sweep, paper_table(sweep)) for sweep in sweeps],
        problems=[*problems, *(text for comparison in comparisons
                               for text in _unfinished(comparison))],
        score=lambda value: Column('').text(Spread(**value)),
        plotly=Markup(get_plotlyjs()))


def _part(comparison: Comparison, gallery: Gallery) -> dict:
    sections = [
        dict(name=name, heading=heading, lead=lead, empty=empty,
             charts=charts(comparison))
        for name, heading, charts, lead, empty in SECTIONS
    ]
    return dict(
        comparison=comparison,
        headlines=headlines(comparison),
        table=comparison_table(comparison) if comparison.steps else None,
        row_keys=[g.key for g in comparison.groups if g.furthest],
        sections={section['name']: section for section in sections},
        gallery=gallery,
        changes=[_change(group, gallery) for group in comparison.groups
                 if group.furthest and len(group.furthest[0].steps) > 1],
        pictures=_pictures(gallery, comparison),
        legend=[gallery.legend(c) for c in gallery.shown()],
        single=len(comparison.groups) == 1)


def _change(group: Group, gallery: Gallery) -> dict:
    """What the last step of a method changed."""
    steps = group.furthest[0].steps
    table = change_table(group)
    return dict(
        group=group, before=steps[-2]['step'], after=steps[-1]['step'],
        verdicts=[(entry['step'], accepted_line(entry['accepted']))
                  for entry in steps if entry.get('accepted')],
        table=table, row_keys=[group.key] * len(table.labels),
        examples=[(photo(c.image), [
            (f'{title}: {shown}', None) if isinstance(shown, str) else
            (title, label_map(shown))
            for title, shown in (('truth', c.truth), ('before', c.before),
                                 ('after', c.after))])
                  for c in gallery.changes.get(group.key, [])])


def _pictures(gallery: Gallery, comparison: Comparison) -> list[list[dict]]:
    """One row for each image: its data, its title and its group's key."""

    def painted(labels: np.ndarray, title: str, key: str | None) -> dict:
        return dict(source=label_map(gallery.colour(labels)), title=title,
                    group=key)

    return [[
        dict(source=photo(p.image), title='image', group=None),
        painted(p.truth, 'ground truth', None),
        *(painted(p.predictions[g.key], g.label, g.key)
          for g in comparison.groups if g.key in p.predictions)
    ] for p in gallery.pictures]


def _unfinished(comparison: Comparison) -> Iterator[str]:
    for group in comparison.groups:
        for run in group.runs:
            if not run.finished:
                planned = run.record.content['scenario'].get('steps')
                yield (f'{group.run_label(run)} ({run.folder}) is not '
                       f'finished: {len(run.record.steps)} of '
                       f'{len(planned) if planned else "all"} steps are '
                       'recorded.')


class StepView(NamedTuple):
    """What the network of a step predicts for an image, channels (H, W)."""
    step: int
    labels: np.ndarray
    classes: list
    palette: list


def render_steps(title: str, image: np.ndarray,
                 views: list[StepView]) -> str:
    """Return a page on which classes appear and fade as steps go by.

    The image is RGB, (H, W, 3), uint8; views are in the order of the steps.
    """
    frames = []
    for view in views:
        gallery = Gallery(view.classes, view.palette)
        frames.append(dict(
            step=view.step, source=label_map(gallery.colour(view.labels)),
            legend=[dict(name=name, colour=colour, share=100 * share)
                    for name, colour, share in gallery.shares(view.labels)]))
    return _filled('steps.html', 'steps.js', title=title, image=photo(image),
                   frames=frames)


def render_browse(title: str, sights: Sequence) -> str:
    """Return a page of what each step trains on."""
    steps = [(sight, [
        (photo(image), None if mask is None else label_map(mask), caption)
        for image, mask, caption in sight.pictures]) for sight in sights]
    return _filled('browse.html', title=title, steps=steps)
