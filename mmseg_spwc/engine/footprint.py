"""How much memory of a GPU a step needs, known without one.

Two iterations are run on the abstract device (:mod:`..runtime.abstract`), so
that the optimiser has its state, and live storages are counted by the part
that made them. Not counted are CUDA's context, what cuDNN works in and what
the allocator cannot use: leave one to two gigabytes for them.
"""
import copy
from collections.abc import Mapping

import torch
from mmengine.config import Config
from mmengine.optim import build_optim_wrapper
from mmengine.registry import init_default_scope
from torch import Tensor, nn
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
)

from mmseg_spwc.config.step import scenario_of, step_config, steps_of
from mmseg_spwc.config.types import AMP_FORMS, SELF_PACED
from mmseg_spwc.consolidation import QuadraticPenalty
from mmseg_spwc.errors import ConfigError
from mmseg_spwc.problems import problem_of
from mmseg_spwc.registry import HOOKS, MODELS
from mmseg_spwc.runtime.abstract import (
    DEVICE,
    Memory,
    abstract_device,
    to_abstract,
)
from mmseg_spwc.scenario import Scenario
from mmseg_spwc.selfpaced import priority_takers
from mmseg_spwc.terminal import shown

from .hooks import ConsolidationHook
from .hooks.step_transition_hook import build_plain
from .optim import Consolidated
from .step_data import trained_params

PARTS = ('weights', 'teacher', 'optimiser', 'batch', 'activations', 'losses',
         'gradients')
GIB = 2**30
BY_NUMBERS = (
    'What this method compares depends on what a batch shows, so its memory '
    'can only be seen on a GPU: train a few iterations.')


def footprint(cfg: Config, world_size: int = 1,
              steps: tuple[int, ...] = (0, -1)) -> dict[int, dict[str, int]]:
    """Peak bytes on each GPU, by step and part.

    ``steps`` are positions among those that are trained: the last one has
    the most channels, and the first may train more weights.
    """
    init_default_scope(cfg.get('default_scope', 'mmseg'))
    scenario = scenario_of(cfg)
    trained = steps_of(cfg, scenario)
    with shown(verbose=False):
        return {step: step_footprint(cfg, scenario, step, world_size)
                for step in dict.fromkeys(trained[at] for at in steps)}


def step_footprint(cfg: Config, scenario: Scenario, step: int,
                   world_size: int = 1) -> dict[str, int]:
    """Peak bytes on each GPU by part, for one step."""
    config = step_config(cfg, scenario, step, world_size)
    half = torch.float16 if is_mixed(config) else None
    networks = build_networks(config)
    try:
        with abstract_device(half) as memory:
            made = AbstractStep(config, scenario, *networks, memory)
            made.take_thresholds()
            if any(hasattr(loss, 'prototypes')
                   for loss in made.model.losses.values()):
                raise ConfigError(BY_NUMBERS)
            for _ in range(2):
                memory.start_anew()
                made.iterate()
            peak = dict(memory.peak)
    except (DataDependentOutputException, DynamicOutputShapeException) as e:
        raise ConfigError(BY_NUMBERS) from e
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


def memory_sentence(cfg: Config, world_size: int = 1) -> str:
    """What each GPU needs for the first and the last step."""
    try:
        found = footprint(cfg, world_size)
    except Exception as error:  # a user's own parts may do anything
        return f'memory of a GPU: not known. {error}'
    steps = ', '.join(f'{_readable(sum(parts.values()))} in step {step}'
                      for step, parts in found.items())
    return f'memory of a GPU: {steps}, and 1 to 2 GiB for CUDA itself'


def _readable(size: int) -> str:
    return f'{size / GIB:.1f} GiB' if size >= GIB else \
        f'{size / 2**20:.1f} MiB'


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
            self.batch = problem_of(scenario).blank_batch(config, DEVICE)
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

    def take_thresholds(self) -> None:
        """Have those of pseudo labels, which a hook would measure."""
        labeller = getattr(self.model, 'pseudo_label', None)
        if labeller is not None and labeller.needs_thresholds:
            labeller.thresholds = torch.empty(
                sum(self.model.channels), device=DEVICE)

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


def blank(params: Mapping[str, Tensor], kind: str) -> dict[str, Tensor]:
    return {f'{kind}.{name}': torch.empty_like(p)
            for name, p in params.items()}
