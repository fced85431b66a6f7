"""Sweeps over the permuted digits whose trials take a second each."""
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CLS = ROOT / 'configs/classification'
LEAVES = {
    name: CLS / folder / f'{name}_mlp_permuted-digits.py'
    for folder, name in (('finetune', 'finetune'), ('ewc', 'ewc'),
                         ('mas', 'mas'), ('si', 'si'), ('blip', 'blip'),
                         ('joint', 'joint'), ('lwf', 'lwf'),
                         ('spwc', 'ewc-spwc'))
}
STRENGTH = 'method.every.hooks.consolidation.strength'
TINY = {
    'total_batch_size': 64,
    'train_cfg.max_epochs': 2,
    'optim_wrapper.optimizer.lr': 0.05,
    'model.backbone.hidden': (24, 24),
    'model.head.in_channels': 24,
    'default_hooks.checkpoint.interval': 1,
}


def leaf(name: str) -> str:
    return str(LEAVES[name])


def write_sweep(path: Path, **names) -> Path:
    """Write a sweep file; tiny trials of two tasks unless told otherwise."""
    given = dict(
        dict(scenarios=['2'], select='held-out accuracy', cfg_options=TINY,
             work_dir=str(path.parent / 'sweep')), **names)
    path.write_text(''.join(f'{k} = {v!r}\n' for k, v in given.items()))
    return path
