"""Print how much memory of a GPU a config needs, without a GPU.

    python tools/analysis_tools/memory.py CONFIG [--scenario 15-1]
        [--gpus N] [--amp] [--cfg-options K=V ...]
    python tools/analysis_tools/memory.py --table docs/memory.md

Two iterations of the first and of the last step are run at full size on a
device that computes nothing, and what is live at the peak is printed in GiB by
part: the weights, the previous model (the teacher), the optimiser with what a
method keeps beside it, the batch, the activations, the logits and losses, the
gradients. Leave one to two GiB more for CUDA, cuDNN and fragmentation, which
are not counted.

--table writes the last step of every segmentation leaf into a page.
"""
import argparse
import copy
import math
import sys
from collections.abc import Mapping
from pathlib import Path

import torch
from mmengine.config import Config
from mmengine.optim import build_optim_wrapper
from mmengine.registry import init_default_scope
from mmengine.structures import PixelData
from mmseg.structures import SegDataSample
from torch import Tensor, nn

from mmseg_spwc.config.load import add_config_options, load_config
from mmseg_spwc.config.step import scenario_of, step_config, steps_of
from mmseg_spwc.config.types import AMP_FORMS, SELF_PACED
from mmseg_spwc.consolidation import QuadraticPenalty
from mmseg_spwc.engine.hooks import ConsolidationHook
from mmseg_spwc.engine.hooks.step_transition_hook import build_plain
from mmseg_spwc.engine.optim import Consolidated
from mmseg_spwc.engine.step_data import trained_params
from mmseg_spwc.errors import user_errors
from mmseg_spwc.registry import HOOKS, MODELS
from mmseg_spwc.runtime.abstract import (
    DEVICE,
    Memory,
    abstract_device,
    to_abstract,
)
from mmseg_spwc.scenario import Scenario
from mmseg_spwc.selfpaced import priority_takers
from mmseg_spwc.structures import BatchSamples

ROOT = Path(__file__).resolve().parents[2]
BEGIN, END = '<!-- table: memory.py --table -->', '<!-- end of the table -->'
PARTS = ('weights', 'teacher', 'optimiser', 'batch', 'activations', 'losses',
         'gradients')
GIB = 2**30
BLOCKS = r'backbone\.layer([124]\.\d+|3\.\d)$'


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description='Print how much memory of a GPU a config needs')
    if '--table' in sys.argv:
        parser.add_argument('--table', type=Path, metavar='PAGE')
        return parser.parse_args()
    add_config_options(parser)
    parser.add_argument('--gpus', type=int, default=1,
                        help='how many share a batch')
    parser.add_argument('--amp', action='store_true',
                        help='in mixed precision')
    parser.set_defaults(table=None)
    return parser.parse_args()


def main() -> int:
    args = parse_args()
    with user_errors():
        if args.table:
            before, rest = args.table.read_text().split(BEGIN)
            args.table.write_text('\n'.join(
                [before + BEGIN, *rows_of_leaves(), END]) + rest.split(END)[1])
        else:
            cfg = load_config(args)
            print(footprint_table(footprint(cfg, args.gpus)))
    return 0


def rows_of_leaves() -> list[str]:
    """A Markdown table: peaks of the last step by leaf and setting."""
    rows = ['| leaf | float32 | 2 GPUs | `--amp` | `--amp`, 2 GPUs | of them '
            'weights | `recompute` | with `--amp` |', '|---' * 8 + '|']
    for path in sorted(ROOT.glob('configs/*/*.py')):
        if '512x512' not in path.name and '128x128' not in path.name:
            continue
        cells = [peak(path, gpus, amp) for amp in (False, True)
                 for gpus in (1, 2)]
        cells.append(peak(path, 1, False, ('weights', 'teacher')))
        cells += [peak(path, 1, amp, recompute=BLOCKS)
                  if 'r101' in path.stem else '' for amp in (False, True)]
        rows.append(f'| `{path.stem}` | ' + ' | '.join(cells) + ' |')
        print(rows[-1], flush=True)
    return rows


def peak(path: Path, gpus: int, amp: bool, parts: tuple = (),
         **model: str) -> str:
    """GiB of the last step, all parts or some."""
    cfg = Config.fromfile(path)
    cfg.work_dir, cfg.amp = 'work_dirs', amp
    cfg.model.update(model)
    (found, ) = footprint(cfg, gpus, steps=(-1, )).values()
    return f'{sum(found[p] for p in parts or found) / GIB:.1f}'


def footprint(cfg: Config, world_size: int = 1,
              steps: tuple[int, ...] = (0, -1)) -> dict[int, dict[str, int]]:
    """Peak bytes on each GPU, by step and part.

    ``steps`` are positions among those that are trained: the last one has
    the most channels, and the first may train more weights.
    """
    init_default_scope(cfg.get('default_scope', 'mmseg'))
    scenario = scenario_of(cfg)
    trained = steps_of(cfg, scenario)
    return {step: step_footprint(cfg, scenario, step, world_size)
            for step in dict.fromkeys(trained[at] for at in steps)}


def step_footprint(cfg: Config, scenario: Scenario, step: int,
                   world_size: int = 1) -> dict[str, int]:
    """Peak bytes on each GPU by part, for one step."""
    config = step_config(cfg, scenario, step, world_size)
    half = torch.float16 if is_mixed(config) else None
    networks = build_networks(config)
    with abstract_device(half) as memory:
        made = AbstractStep(config, scenario, *networks, memory)
        for _ in range(2):
            memory.start_anew()
            made.iterate()
        peak = dict(memory.peak)
    if world_size > 1:  # what DDP sends is a copy
        peak['gradients'] += sum(
            4 * p.numel() for p in made.model.parameters() if p.requires_grad)
    return {part: peak.get(part, 0) for part in PARTS}


def footprint_table(found: Mapping[int, Mapping[str, int]]) -> str:
    """The parts of every step and their sum, in GiB."""
    rows = [('step', *PARTS, 'all')] + [
        (str(step), *(f'{parts[part] / GIB:.2f}' for part in PARTS),
         f'{sum(parts.values()) / GIB:.2f}')
        for step, parts in found.items()]
    return '\n'.join('  '.join(f'{cell:>11}' for cell in row) for row in rows)


def is_mixed(config: Config) -> bool:
    """Whether a step is trained in mixed precision."""
    return config.optim_wrapper.get('type') in AMP_FORMS.values()


def build_networks(config: Config) -> tuple[nn.Module, nn.Module | None]:
    """Student and previous model of a step, without memory if they can be.
    """
    def student_of(device: str) -> nn.Module:
        with torch.device(device):
            return MODELS.build(copy.deepcopy(config.model))

    try:
        student = student_of(DEVICE)
    except RuntimeError:  # mmseg's transformers read numbers while built
        student = student_of('cpu')
    if len(student.channels) == 1:
        return student, None
    with torch.device(next(student.parameters()).device):
        return student, build_plain(config.model, student.channels[:-1])


class AbstractStep:
    """A step's networks, batch and optimiser on the abstract device.

    The networks may be on any device; ``memory`` counts by part.
    """

    def __init__(self, config: Config, scenario: Scenario, model: nn.Module,
                 previous: nn.Module | None, memory: Memory) -> None:
        self.memory = memory
        self.mixed = is_mixed(config)
        with memory.part('weights'):
            self.model = to_abstract(model).train()
        hooks = [hook for hook in config.custom_hooks
                 if hook['type'] == SELF_PACED]
        if hooks and type(model) in priority_takers(
                [HOOKS.get(h['type']) for h in config.custom_hooks],
                type(model)):
            model.set_priorities([.5] * model.num_old)
        if model.needs_teacher:
            with memory.part('teacher'):
                model.set_teacher(to_abstract(previous))
            for name in ('tapped_forward', 'all_logits'):
                if hasattr(previous, name):
                    setattr(previous, name, memory.counts(
                        'teacher', getattr(previous, name)))
        for name in ('named_losses', 'upsample'):
            if hasattr(model, name):
                setattr(model, name,
                        memory.counts('losses', getattr(model, name)))
        with memory.part('batch'):
            self.batch = blank_batch(config, scenario)
        # the scaler of mixed precision needs a GPU, and next to no memory
        wrapper = dict(copy.deepcopy(config.optim_wrapper.to_dict()),
                       type='OptimWrapper')
        for key in ('loss_scale', 'dtype'):
            wrapper.pop(key, None)
        self.wrapper = build_optim_wrapper(model, wrapper)
        for hook in config.custom_hooks:
            if HOOKS.get(hook['type']) is ConsolidationHook:
                with memory.part('optimiser'):
                    self._consolidate(HOOKS.build(hook))

    def _consolidate(self, hook: ConsolidationHook) -> None:
        """Let a penalty and what watches it take part in the updates."""
        params = trained_params(self.model, hook.exclude)
        hook.importance.begin(params, hook.store, step=0)
        together = Consolidated(self.wrapper)
        together.observe(params, hook.importance)
        if len(self.model.channels) > 1:
            penalty = QuadraticPenalty()
            penalty.load_state_dict(dict(
                constant=0., **blank(params, 'strength'),
                **blank(params, 'centre')))
            hook.update.attach(penalty, self.wrapper.optimizer)
            together.hold(params, hook.update)

    def iterate(self) -> dict[str, Tensor]:
        """Run an iteration as MMEngine does; return the losses."""
        with torch.autocast(DEVICE, enabled=self.mixed):
            losses = self.model.loss(**self.batch)
            total, _ = self.model.parse_losses(losses)
        # what is computed again is in the precision of the first time
        with self.memory.part('gradients'), torch.autocast(
                DEVICE, enabled=self.mixed):
            self.wrapper.backward(total)
        with self.memory.part('optimiser'):
            self.wrapper.step()
        self.wrapper.zero_grad()
        return losses


def blank_batch(config: Config, scenario: Scenario) -> dict:
    """A batch of the right shapes, as a model takes it; its numbers are any.
    """
    batch, model = config.train_dataloader.batch_size, config.model
    if scenario.problem == 'classification':
        channels = len(model.data_preprocessor.get('mean') or 'RGB')
        side = model.backbone.get('image_size') or math.isqrt(
            model.backbone.get('in_features', 224**2 * channels) // channels)
        labels = torch.empty(batch, dtype=torch.long, device=DEVICE)
        return dict(
            inputs=torch.empty(batch, channels, side, side, device=DEVICE),
            data_samples=BatchSamples(labels, labels.clone()))
    size = tuple(model.data_preprocessor.size)
    labels = torch.empty(batch, 1, *size, dtype=torch.long, device=DEVICE)
    meta = dict(img_shape=size, ori_shape=size, pad_shape=size)
    return dict(
        inputs=torch.empty(batch, 3, *size, device=DEVICE),
        data_samples=[SegDataSample(gt_sem_seg=PixelData(data=label),
                                    metainfo=meta) for label in labels])


def blank(params: Mapping[str, Tensor], kind: str) -> dict[str, Tensor]:
    return {f'{kind}.{name}': torch.empty_like(p)
            for name, p in params.items()}


if __name__ == '__main__':
    sys.exit(main())
