"""Puts the sections together into one page that needs no network."""
from collections.abc import Mapping, Sequence
from pathlib import Path

import jinja2
from markupsafe import Markup
from plotly.offline import get_plotlyjs

from ..gallery import Gallery
from ..headline import headlines
from ..palette import colour
from ..runs import Comparison, Run
from ..tables import comparison_table
from . import (
    class_heat_map,
    cost,
    forgetting,
    losses,
    pictures,
    priority,
    scenario_picture,
    step_scores,
)

TEMPLATES = Path(__file__).with_name('templates')
# name, heading, module, what to read in it, what to say where it is empty
SECTIONS = (
    ('scenario', 'What is learnt when', scenario_picture,
     'Every row is a class (or domain, or task); it is deep blue at the step '
     'that brings it.', 'The records do not tell the steps.'),
    ('steps', 'Scores by step', step_scores,
     'Test score over everything learnt so far. Bands are one standard '
     'deviation over seeds.', ''),
    ('classes', 'Every class or task over the steps', class_heat_map,
     'A row that darkens from left to right is one that is forgotten.',
     'No run has finished a step.'),
    ('forgetting', 'Forgetting', forgetting,
     'Points by which what a step brought is below its best, after each '
     'later step.', 'No run has finished two steps.'),
    ('priority', 'Priority weights', priority,
     'The weight v that spWC gave to every old class or step; hover for '
     'psi, eta and mu.', 'No run here uses spWC.'),
    ('losses', 'Loss terms', losses,
     'Over the iterations of the whole sequence; dotted lines are the ends '
     'of steps, where all runs share them.',
     'The records hold no loss curves.'),
    ('cost', 'Time and memory', cost,
     'They depend on the machine: compare runs of the same one only.', ''),
)


def environment() -> jinja2.Environment:
    """The templates; whatever they show is escaped."""
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined)


def render(comparisons: Sequence[Comparison],
           galleries: Mapping[str, Gallery] | None = None,
           problems: Sequence[str] = ()) -> str:
    """Write the page.

    Args:
        comparisons (Sequence[Comparison]): See
            :func:`mmseg_spwc.visualization.runs.compare`.
        galleries (Mapping[str, Gallery], optional): Test images by the
            title of their comparison.
        problems (Sequence[str]): What could not be read.

    Returns:
        str: HTML, with plotly.js inside.
    """
    parts = [_part(c, (galleries or {}).get(c.title) or Gallery())
             for c in comparisons]
    return environment().get_template('page.html').render(
        parts=parts,
        colour=colour,
        problems=[*problems, *_unfinished(comparisons)],
        # only files of this package and of plotly are taken as they are
        style=Markup((TEMPLATES / 'style.css').read_text()),
        script=Markup((TEMPLATES / 'page.js').read_text()),
        plotly=Markup(get_plotlyjs()))


def _part(comparison: Comparison, gallery: Gallery) -> dict:
    sections = [
        dict(name=name, heading=heading, lead=lead, empty=empty,
             charts=module.charts(comparison))
        for name, heading, module, lead, empty in SECTIONS
    ]
    has_scores = bool(comparison.steps)
    return dict(
        comparison=comparison,
        headlines=headlines(comparison),
        table=comparison_table(comparison) if has_scores else None,
        row_keys=[g.key for g in comparison.groups if g.furthest],
        sections={section['name']: section for section in sections},
        gallery=gallery,
        pictures=pictures.rows(gallery, comparison),
        legend=pictures.legend(gallery),
        single=len(comparison.groups) == 1)


def _unfinished(comparisons: Sequence[Comparison]) -> list[str]:
    return [
        f'{group.run_label(run)} ({run.folder}) is not finished: '
        f'{len(run.record.steps)} of {_planned(run)} steps are recorded.'
        for comparison in comparisons for group in comparison.groups
        for run in group.runs if not run.finished
    ]


def _planned(run: Run) -> int | str:
    steps = run.record.content['scenario'].get('steps')
    return len(steps) if steps else 'all'
