"""The notebook runs from top to bottom, and shows what it says."""
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_first_sequence(tmp_path):
    nbclient = pytest.importorskip('nbclient')
    nbformat = pytest.importorskip('nbformat')
    pytest.importorskip('ipykernel')
    notebook = nbformat.read(
        ROOT / 'docs/tutorials/first_sequence.ipynb', as_version=4)
    nbclient.NotebookClient(
        notebook, timeout=900,
        resources=dict(metadata=dict(path=str(tmp_path)))).execute()
    code = [cell for cell in notebook.cells if cell.cell_type == 'code']
    assert all(cell.outputs for cell in code)
    shown = [output.get('data', {}) for output in code[-1].outputs]
    assert any('image/png' in data for data in shown)
    table = ''.join(output.get('text', '') for output in code[-1].outputs)
    assert all(name in table for name in ('Finetune', 'MiB', 'Drift'))
