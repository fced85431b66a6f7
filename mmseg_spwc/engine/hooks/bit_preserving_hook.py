"""BLIP: later steps keep the bits that earlier steps have earned."""
from collections.abc import Sequence
from pathlib import Path

from mmengine.dist import broadcast
from mmengine.hooks import Hook
from mmengine.logging import print_log
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from mmseg_spwc.consolidation import BLIP, FisherImportance
from mmseg_spwc.consolidation.blip import check_bits
from mmseg_spwc.consolidation.store import FOLDER
from mmseg_spwc.errors import ConfigError
from mmseg_spwc.registry import HOOKS
from mmseg_spwc.utils.distributed import from_first_rank, unwrap
from mmseg_spwc.utils.files import write_safetensors

from ..context import context_of
from ..optim import consolidated
from ..step_data import check_samples, measure, trained_params


@HOOKS.register_module()
class BitPreservingHook(Hook):
    """Bit-level information preserving (BLIP, Shi et al., CVPR 2021).

    After every optimiser step the weights are clipped to the range that
    their frozen bits leave free. At the end of a step each weight is given
    as many bits as the step's data told about it (Fisher information at
    sampled labels, per sample), and is rounded to the bits it has. See
    :class:`mmseg_spwc.consolidation.BLIP`.

    Args:
        prior (float): Fisher information before the first step, per input.
            Defaults to 1e-11.
        max_bits (int): Largest number of bits of a weight. Defaults to 20.
        n_samples (int, optional): Measure on this many images at most.
            Defaults to 8000.
        exclude (Sequence[str]): Leave out parameters whose name contains
            one of these, such as the heads. Defaults to ('head.', ).
        initialise (bool): Draw the first weights as BLIP does, within its
            range. Defaults to True.
    """

    priority = 'NORMAL'

    def __init__(self,
                 prior: float = 1e-11,
                 max_bits: int = 20,
                 n_samples: int | None = 8000,
                 exclude: Sequence[str] = ('head.', ),
                 initialise: bool = True) -> None:
        check_bits(prior, max_bits)
        check_samples(n_samples)
        self.prior = prior
        self.max_bits = max_bits
        self.n_samples = n_samples
        self.exclude = tuple(exclude)
        self.initialise = initialise
        self.fisher = FisherImportance(labels='sample')
        self.bits: BLIP | None = None

    def before_train(self, runner) -> None:
        params = self._begin(runner)
        begins = context_of(runner).step == 0 and runner.iter == 0
        if begins and self.initialise:
            self.bits.initialise_(params)
            for param in params.values():
                broadcast(param.data)
        consolidated(runner).observe(params, self)

    def before_update(self, params: dict[str, Tensor]) -> None:
        pass

    def after_update(self, params: dict[str, Tensor]) -> None:
        """Called after every update of the optimiser."""
        self.bits.project_(params)

    def after_train(self, runner) -> None:
        """Give out bits and round; a repetition gives the same."""
        params = self._begin(runner)
        step = context_of(runner).step
        self.bits.project_(params)  # weights of start_from may lie outside
        fisher = measure(self.fisher, runner, unwrap(runner.model), params,
                         step, self.n_samples)
        self.bits.consolidate_(params, fisher)
        print_log(f'BLIP uses {self.bits.used_capacity():.1%} of its bits',
                  'current')
        from_first_rank(
            write_safetensors, _path(runner, step), self.bits.state_dict())

    def _begin(self, runner) -> dict[str, Tensor]:
        """Take up the bits as the step before left them."""
        params = trained_params(unwrap(runner.model), self.exclude)
        self.bits = BLIP(params, self.prior, self.max_bits)
        step = context_of(runner).step
        if step > 0:
            device = next(iter(params.values())).device
            path = _path(runner, step - 1)
            state = _read(path, str(device))
            _check_shapes(state, self.bits.state_dict(), path)
            self.bits.load_state_dict(state)
        return params


def _path(runner, step: int) -> Path:
    folder = context_of(runner).work_dir / FOLDER
    return folder / f'bits_{step:02d}.safetensors'


def _read(path: Path, device: str) -> dict[str, Tensor]:
    try:
        return load_file(path, device)
    except FileNotFoundError as error:
        raise ConfigError(
            f'There are no bits of the step before at {path}: train it with '
            'this method.') from error
    except SafetensorError as error:
        raise ConfigError(
            f'{path} is broken ({error}): train the step before again in '
            'another work_dir, or restore the file from a copy.') from error


def _check_shapes(state: dict[str, Tensor], wanted: dict[str, Tensor],
                  path: Path) -> None:
    for name in sorted(state.keys() | wanted.keys()):
        found, needed = (
            tuple(tensors[name].shape) if name in tensors else 'none'
            for tensors in (state, wanted))
        if found != needed:
            raise ConfigError(
                f'The bits in {path} are of another network: {name} has the '
                f'shape {found}, {needed} is needed. Use the network they '
                'were made with, or another work_dir.')
