"""Write model-index.yml and the metafile.yml of every method folder.

    python tools/misc/model_index.py

Results are those of docs/results, as means over their seeds: nothing stands
in a metafile that was not measured. A run that was made with a leaf as it is
names it (`leaf`). Run this after a result changed.
"""
import csv
import json
import statistics
import sys
from collections import defaultdict
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
SPWC = ('Self-paced Weight Consolidation for Continual Learning',
        '2307.10845')
EWC = ('Overcoming catastrophic forgetting in neural networks', '1612.00796')
LWF = ('Learning without Forgetting', '1606.09282')
# by folder below configs/: name, title and arXiv id (if any) of the paper
METHODS = {
    'alife': ('ALIFE', 'ALIFE: Adaptive Logit Regularizer and Feature Replay '
              'for Incremental Semantic Segmentation', '2210.06816'),
    'dft': ('DFT*', 'Revisiting Continual Semantic Segmentation with '
            'Pre-trained Vision Models', '2508.04267'),
    'dkd': ('DKD', 'Decomposed Knowledge Distillation for Class-Incremental '
            'Semantic Segmentation', '2210.05941'),
    'ewc': ('EWC', *EWC),
    'ewf': ('EWF', 'Endpoints Weight Fusion for Class Incremental Semantic '
            'Segmentation', '2305.06558'),
    'finetune': ('Finetune', ),
    'ilt': ('ILT', 'Incremental Learning Techniques for Semantic '
            'Segmentation', '1907.13372'),
    'joint': ('Joint', ),
    'lgkd': ('LGKD', ),
    'lwf': ('LwF', *LWF),
    'lwf_mc': ('LwF-MC', 'iCaRL: Incremental Classifier and Representation '
               'Learning', '1611.07725'),
    'mas': ('MAS', 'Memory Aware Synapses: Learning what (not) to forget',
            '1711.09601'),
    'mib': ('MiB', 'Modeling the Background for Incremental Learning in '
            'Semantic Segmentation', '2002.00718'),
    'nest': ('NeST', 'Early Preparation Pays Off: New Classifier Pre-tuning '
             'for Class Incremental Semantic Segmentation', '2407.14142'),
    'plop': ('PLOP', 'PLOP: Learning without Forgetting for Continual '
             'Semantic Segmentation', '2011.11390'),
    'reminder': ('REMINDER', 'Class Similarity Weighted Knowledge '
                 'Distillation for Continual Semantic Segmentation', None),
    'rcil': ('RCIL', 'Representation Compensation Networks for Continual '
             'Semantic Segmentation', '2203.05402'),
    'si': ('SI', 'Continual Learning Through Synaptic Intelligence',
           '1703.04200'),
    'spwc': ('spWC', *SPWC),
    'ucd': ('UCD', 'Uncertainty-aware Contrastive Distillation for '
            'Incremental Semantic Segmentation', '2203.14098'),
    'ssul': ('SSUL', 'SSUL: Semantic Segmentation with Unknown Label for '
             'Exemplar-based Class-Incremental Learning', '2106.11562'),
    'demo': ('Demo', *SPWC),
    'classification/blip': ('BLIP', 'Continual Learning via Bit-Level '
                            'Information Preserving', '2105.04444'),
    'classification/er': ('ER', 'On Tiny Episodic Memories in Continual '
                          'Learning', '1902.10486'),
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


def metafile(folder: str, measured: dict) -> dict:
    """The content of one folder's metafile."""
    key = folder if folder in METHODS else folder.rpartition('/')[2]
    name, *paper = METHODS[key]
    if 'classification' in folder:
        name += ' (classification)'
    collection = {'Name': name, 'License': 'Apache-2.0'}
    if paper:
        title, number = paper
        collection['Paper'] = {'Title': title}
        if number:
            collection['Paper']['URL'] = f'https://arxiv.org/abs/{number}'
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
