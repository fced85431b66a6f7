"""On the generated shapes, finetuning forgets and the methods beat it.

Four runs a seed from one shared step 0: about eight minutes on one free core.
"""
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mmseg_spwc.record import Record

ROOT = Path(__file__).resolve().parents[2]
SEEDS = (0, 1, 2)
# final mIoU over all classes above finetune's; the smallest measured were
# .199, .180 and .150 (spWC: authors_code; with the background kept .171)
MARGINS = {'mib': .10, 'rcil': .10, 'rcil-spwc': .10}

pytestmark = pytest.mark.slow


def train(method: str, folder: Path, seed: int, start: Path | None) -> Record:
    """Run the demo's config of a method, with its output in a file."""
    work_dir = folder / method
    work_dir.mkdir()
    options = [
        f'randomness.seed={seed}', 'train_dataloader.num_workers=0',
        'train_dataloader.persistent_workers=False',
        'test_dataloader.num_workers=0',
        *([f'start_from={start}'] if start else [])
    ]
    with open(work_dir / 'output.txt', 'w') as output:
        subprocess.run(
            [sys.executable, 'tools/train.py',
             f'configs/demo/{method}_shapes-6-1.py',
             '--work-dir', str(work_dir), '--cfg-options', *options],
            cwd=ROOT, stdout=output, stderr=subprocess.STDOUT, check=True,
            env=dict(os.environ, PYTHONPATH=str(ROOT),
                     MMSEG_SPWC_DATA=str(folder.parent / 'data')))
    return Record.read(work_dir)


@pytest.fixture(scope='module')
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp('shapes_order')


@pytest.fixture(scope='module', params=SEEDS)
def records(request, folder) -> dict:
    """The finished runs of one seed, by method."""
    runs = folder / f'seed_{request.param}'
    runs.mkdir()
    done = {'finetune': train('finetune', runs, request.param, None)}
    start = runs / 'finetune' / 'step_00' / 'final.pth'
    for method in MARGINS:
        done[method] = train(method, runs, request.param, start)
    return done


def final_miou(record: Record) -> float:
    return record.steps[-1]['miou']['all']


def test_methods_start_from_the_same_scores(records):
    first = [record.step(0)['iou'] for record in records.values()]
    assert all(iou == first[0] for iou in first)


def test_finetune_forgets_more_than_half_of_its_base(records):
    base = [step['miou']['base'] for step in records['finetune'].steps]
    assert len(base) == 5
    assert base[-1] < base[0] / 2


@pytest.mark.parametrize('method', MARGINS)
def test_method_beats_finetune(records, method):
    gain = final_miou(records[method]) - final_miou(records['finetune'])
    assert gain > MARGINS[method]
