"""Write model-index.yml and the metafile.yml of every method folder.

    python tools/misc/model_index.py

Results are those of docs/results, as means over their seeds: nothing stands
in a metafile that was not measured. A run that was made with a leaf as it is
names it (`leaf`). Run this after a result changed.
"""
import csv
import json
import re
import statistics
import sys
from collections import defaultdict
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
# methods of classification only, which have no README
ELSEWHERE = {
    'blip': ('BLIP', {
        'Title': 'Continual Learning via Bit-Level Information Preserving',
        'URL': 'https://arxiv.org/abs/2105.04444'}),
    'er': ('ER', {
        'Title': 'On Tiny Episodic Memories in Continual Learning',
        'URL': 'https://arxiv.org/abs/1902.10486'}),
}
# benchmark: task, dataset as it is shown, metrics by column
BENCHMARKS = {
    'shapes': ('Continual Semantic Segmentation',
               'generated shapes, 6-1 overlapped',
               {'mIoU (all)': 'all', 'mIoU (base)': 'base',
                'mIoU (new)': 'new'}),
    'voc128': ('Continual Semantic Segmentation',
               'PASCAL VOC at 128 px, 15-1 overlapped',
               {'mIoU (all)': 'all', 'mIoU (base)': 'base',
                'mIoU (new)': 'new'}),
    'permuted_mnist': ('Continual Image Classification', 'Permuted-MNIST, 10',
                       {'average APA': 'average_apa',
                        'final accuracy': 'final_accuracy'}),
}


def folders() -> list[str]:
    """Method folders below configs/, those of classification too."""
    found = {path.parent.relative_to(ROOT / 'configs').as_posix()
             for path in (ROOT / 'configs').rglob('*.py')}
    return sorted(f for f in found
                  if '_base_' not in f and f != '.'
                  and not f.startswith('sweeps'))


def leaves(folder: str) -> list[Path]:
    return sorted((ROOT / 'configs' / folder).glob('*.py'))


def runs(benchmark: str) -> list[dict]:
    """All runs of a benchmark, from its CSV file and its records."""
    folder = ROOT / 'docs/results'
    found, table = [], folder / f'{benchmark}.csv'
    if table.exists():
        with table.open(newline='') as file:
            found += csv.DictReader(file)
    for name in (benchmark, f'{benchmark}_full'):
        records = folder / 'records' / f'{name}.json'
        if records.exists():
            found += json.loads(records.read_text())
    return found


def results() -> dict[str, list[dict]]:
    """Measured results by leaf, as it is named below configs/."""
    rows = defaultdict(list)
    for benchmark in BENCHMARKS:
        for row in runs(benchmark):
            if row.get('leaf'):
                rows[row['leaf'], benchmark].append(row)
    found = defaultdict(list)
    for (leaf, benchmark), measured in rows.items():
        task, data, columns = BENCHMARKS[benchmark]
        means = {
            metric: round(100 * statistics.fmean(
                float(row[column]) for row in measured), 1)
            for metric, column in columns.items()
        }
        found[leaf].append({
            'Task': task, 'Dataset': data,
            'Metrics': {**means, 'seeds': len(measured)}})
    return found


def described(folder: str) -> tuple[str, dict]:
    """Name and paper of a method, as the page of its folder has them."""
    key = folder.rpartition('/')[2]
    if key == 'demo':
        return 'Demo', described('spwc')[1]
    if key in ELSEWHERE:
        return ELSEWHERE[key]
    page = (ROOT / 'configs' / key / 'README.md').read_text()
    citation = ' '.join(page.partition('## Citation')[2].split())
    paper = {'Title': re.search(r'\*(.*?)\*', citation),
             'URL': re.search(r'<(https:.*?)>', citation)}
    return page.partition('\n')[0].removeprefix('# '), {
        field: found[1] for field, found in paper.items() if found}


def metafile(folder: str, measured: dict) -> dict:
    """The content of one folder's metafile."""
    name, paper = described(folder)
    if 'classification' in folder:
        name += ' (classification)'
    collection = {'Name': name, 'License': 'Apache-2.0'}
    if paper:
        collection['Paper'] = paper
    if (ROOT / 'configs' / folder / 'README.md').exists():
        collection['README'] = f'configs/{folder}/README.md'
    models = []
    for leaf in leaves(folder):
        path = leaf.relative_to(ROOT / 'configs').as_posix()
        model = {'Name': leaf.stem, 'In Collection': name,
                 'Config': f'configs/{path}'}
        if path in measured:
            model['Results'] = measured[path]
        models.append(model)
    return {'Collections': [collection], 'Models': models}


def files() -> dict[Path, str]:
    """Every file to write, with its text."""
    measured = results()
    texts = {
        ROOT / 'configs' / folder / 'metafile.yml': _yaml(
            metafile(folder, measured))
        for folder in folders()
    }
    texts[ROOT / 'model-index.yml'] = _yaml(
        {'Import': [path.relative_to(ROOT).as_posix() for path in texts]})
    return texts


def _yaml(content: dict) -> str:
    note = '# written by tools/misc/model_index.py\n'
    return note + yaml.safe_dump(content, sort_keys=False, width=79)


def main() -> int:
    for path, text in files().items():
        path.write_text(text)
    return 0


if __name__ == '__main__':
    sys.exit(main())
