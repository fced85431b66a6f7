"""The report page: right numbers, nothing injected, any record."""
import csv
import html.parser
import json
import re
from pathlib import Path

import numpy as np
import pytest
from made_records import classification, segmentation, write

from mmseg_spwc.visualization.gallery import Change, Gallery, Picture
from mmseg_spwc.visualization.report import render
from mmseg_spwc.visualization.runs import Run, compare, load_runs
from mmseg_spwc.visualization.tables import final_table

EVIL = '</script><script>alert("x")</script><img src=x onerror=alert(1)>'


class Page(html.parser.HTMLParser):
    """Elements, table rows and figures of a page."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.figures, self.rows = [], [], []
        self._inside = None
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.tags.append((tag, attributes))
        if tag == 'script':
            self._inside = attributes.get('type', 'code')
        elif tag == 'tr':
            self.rows.append([])
        elif tag in ('td', 'th') and 'data-value' in attributes:
            self.rows[-1].append(float(attributes['data-value']))

    def handle_endtag(self, tag):
        if tag == 'script':
            self._inside = None

    def handle_data(self, data):
        if self._inside == 'application/json':
            self.figures.append(json.loads(data))

    def count(self, name):
        return sum(tag == name for tag, _ in self.tags)


def page_of(tmp_path, *records, galleries=None):
    folders = [write(r, tmp_path / f'run{i}') for i, r in enumerate(records)]
    runs, problems = load_runs(folders)
    comparisons = compare(runs)
    if galleries:
        galleries = {c.title: galleries for c in comparisons}
    return render(comparisons, galleries, problems)


def test_page_csv_latex_and_record_agree(tmp_path):
    record = segmentation('RCIL+spWC', steps=4)
    page = Page(page_of(tmp_path, record, segmentation('MiB', steps=4)))
    last = record.steps[-1]
    summary = record.content['summary']
    means = [summary[k] for k in ('base', 'base_no_bg', 'new', 'all',
                                  'average_miou')]
    truth = [*last['iou'], *means]
    assert page.rows[1] == pytest.approx(truth, abs=1e-12)

    with open(tmp_path / 'run0/results.csv') as file:
        rows = list(csv.DictReader(file))
    from_csv = [float(rows[-1][n]) for n in last['classes']]
    from_csv += [float(rows[-1][f'mIoU_{n}'])
                 for n in ('base', 'base_no_bg', 'new', 'all')]
    average = sum(float(r['mIoU_all']) for r in rows) / len(rows)
    assert [*from_csv, average] == pytest.approx(truth, abs=1e-5)

    latex = final_table([record], 'latex')
    line = next(x for x in latex.splitlines() if x.startswith('RCIL+spWC'))
    from_latex = [float(x) for x in re.findall(r'& (?:\\textbf{)?([\d.]+)',
                                               line)]
    assert from_latex == pytest.approx([100 * v for v in truth], abs=.0501)

    lines = [trace for figure in page.figures for trace in figure['data']
             if trace.get('mode') == 'lines+markers']
    assert lines[0]['y'] == pytest.approx(
        [100 * s['miou']['all'] for s in record.steps])


def test_nothing_of_a_record_becomes_markup(tmp_path):
    names = ['background', EVIL, '<b>bold</b>', '%{customdata}', '"\'&']
    record = segmentation(f'M{EVIL}', names=names)
    record.content['run'].update(
        command=EVIL, commit=EVIL, packages={EVIL: EVIL}, name=EVIL,
        config=f'# {EVIL}')
    record.content['scenario']['dataset'] = EVIL
    clean = segmentation('M', names=['background', 'a', 'b', 'c', 'd'])
    picture = Picture(EVIL, np.zeros((4, 4, 3), np.uint8),
                      np.zeros((4, 4), int), {'g0': np.ones((4, 4), int)})
    gallery = Gallery(names, [[0, 0, 0]] * 5, [picture], [EVIL])
    page = Page(page_of(tmp_path / 'a', record, galleries=gallery))
    model = Page(page_of(tmp_path / 'b', clean, galleries=gallery))
    for name in ('script', 'img', 'b', 'td', 'figure'):
        assert page.count(name) == model.count(name), name
    assert not any('onerror' in a for _, a in page.tags)
    # plotly reads tags in its labels: they arrive escaped
    text = json.dumps(page.figures)
    assert '<b>bold' not in text and '<script' not in text
    assert '&lt;b&gt;bold' in text


def test_it_needs_no_network(tmp_path):
    text = page_of(tmp_path, segmentation())
    page = Page(text)
    sources = [a.get('src') or a.get('href') for tag, a in page.tags
               if tag in ('script', 'img', 'link', 'iframe')]
    assert all(s is None or s.startswith('data:') for s in sources)
    assert "default-src 'none'" in text
    assert text.count('plotly.js v') == 1  # once, and inside


@pytest.mark.parametrize('record, message', [
    (segmentation(steps=1), 'No run has finished two steps'),
    (segmentation(steps=0, planned=3, finished=False),
     '0 of 3 steps are recorded'),
    (segmentation(steps=2, planned=3, finished=False),
     '2 of 3 steps are recorded'),
    (segmentation(with_curves=False), 'hold no loss curves'),
    (segmentation(), 'No run here uses spWC'),
    (classification(), 'Avg-APA'),
])
def test_every_kind_of_record_has_a_page(record, message, tmp_path):
    text = page_of(tmp_path, record)
    assert message in text
    assert Page(text).count('main') == 1


def test_a_bad_record_is_named_and_the_others_are_shown(tmp_path):
    write(segmentation(), tmp_path / 'a')
    content = dict(segmentation().content, version=7)
    (tmp_path / 'b').mkdir()
    (tmp_path / 'b/record.json').write_text(json.dumps(content))
    runs, problems = load_runs([tmp_path / 'a', tmp_path / 'b'])
    text = render(compare(runs), None, problems)
    assert 'has record version 7' in text
    assert 'data-toggle="g0"' in text


def test_seeds_show_a_band(tmp_path):
    records = [segmentation(seed=s) for s in range(3)]
    page = Page(page_of(tmp_path, *records))
    bands = [t for f in page.figures for t in f['data']
             if t.get('fill') == 'toself']
    upper = bands[0]['y'][:3]
    values = [[100 * r.steps[t]['miou']['all'] for r in records]
              for t in range(3)]
    assert upper == pytest.approx(
        [np.mean(v) + np.std(v, ddof=1) for v in values])
    toggles = [a for tag, a in page.tags if 'data-toggle' in a]
    assert len(toggles) == 1


def test_priorities_tell_psi_eta_and_mu(tmp_path):
    record = segmentation('RCIL+spWC')
    page = Page(page_of(tmp_path, record))
    first = record.steps[1]['priority']
    cells = [t['customdata'][0][0] for f in page.figures for t in f['data']
             if 'psi' in str(t.get('customdata'))]
    assert cells == ['<br>'.join([
        f'v = {first["v"][0]:.4g}', f'psi = {first["psi"][0]:.4g}',
        f'eta = {first["eta"][0]:.4g}', 'mu = 0.5'])]


def test_images_of_every_run_are_inside(tmp_path):
    picture = Picture('x', np.full((300, 600, 3), 7, np.uint8),
                      np.zeros((300, 600), int),
                      {'g0': np.ones((300, 600), int)})
    gallery = Gallery(['background', 'disc'], [[0, 0, 0], [255, 0, 9]],
                      [picture], [])
    text = page_of(tmp_path, segmentation(), galleries=gallery)
    images = [a for tag, a in Page(text).tags if tag == 'img']
    assert [a['alt'].split(' of ')[0] for a in images] == [
        'image', 'ground truth', 'RCIL']
    assert '#ff0009' in text
    assert all(a['src'].startswith('data:image/') for a in images)


def test_many_runs_stay_small():
    names = ['background', *(f'class {i}' for i in range(1, 21))]
    runs = [Run(segmentation(f'M{i}+spWC', steps=11, base=11, names=names),
                Path('.')) for i in range(20)]
    assert len(render(compare(runs)).encode()) < 15e6


def test_what_the_last_step_changed(tmp_path):
    record = segmentation(steps=3, base=3)
    record.steps[1]['iou'] = [.9, .5, .4, .3]
    record.steps[2]['iou'] = [.9, .6, .1, None, .7]
    for entry in record.steps[1:]:
        entry['accepted'] = dict(passed=False, reason='class 2 fell; no',
                                 fell=['class 2'])
    change = Change(np.zeros((4, 4, 3), np.uint8), 'truly', EVIL,
                    np.zeros((4, 4, 3), np.uint8))
    text = page_of(tmp_path, record, galleries=Gallery(
        changes={'g0': [change]}))
    assert 'Step 2 not accepted: class 2 fell; no' in text
    assert EVIL not in text and 'truth: truly' in text
    part = text[text.index('id="changes-0"'):]
    part = part[:part.index('</section>')]
    assert Page(part).count('img') == 2
    rows = re.findall(r'<th scope="row">(.*?)</th>', part)
    assert rows == ['class 2', 'background', 'class 1', 'class 3', 'class 4']
    assert [r for r in Page(part).rows if r] == [
        pytest.approx(row) for row in (
            [.4, .1, -.3], [.9, .9, 0.], [.5, .6, .1], [.3], [.7])]


def test_one_step_has_changed_nothing(tmp_path):
    assert 'No run has finished two steps' in page_of(
        tmp_path, segmentation(steps=1))
