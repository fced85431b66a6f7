"""EWF: a step ends with a mean of the networks before and after it."""
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from mmengine.hooks import Hook
from mmengine.logging import print_log
from torch import Tensor

from mmseg_spwc.config.step import checkpoint_path
from mmseg_spwc.consolidation import Importance
from mmseg_spwc.errors import ConfigError
from mmseg_spwc.registry import HOOKS, build_part
from mmseg_spwc.runtime.agreement import check_agreement
from mmseg_spwc.runtime.checkpoint import load_step
from mmseg_spwc.utils.distributed import from_first_rank, unwrap
from mmseg_spwc.utils.files import write_tensors
from mmseg_spwc.utils.options import is_number

from ..context import context_of
from ..step_data import check_samples, measure, trained_params

FILE_NAME = 'importances.pth'


@HOOKS.register_module()
class WeightFusionHook(Hook):
    r"""Endpoints weight fusion of `EWF <https://arxiv.org/abs/2305.06558>`_.

    When a step has been trained, all that the network had before it becomes

    .. math::
        \theta = (1 - a) \theta_{t-1} + a \theta_t,
        \qquad a = \sqrt{C_{new} / C_{cur}},

    before anything is measured, saved or scored. Rows of new classes stay as
    trained. Doubled convolutions are folded first.

    With an importance :math:`F` every parameter has a share of its own,

    .. math::
        a_i = \frac{a F_{t,i}}{(1 - a) F_{<t,i} + a F_{t,i}},

    which is where :math:`(1 - a) F_{<t} (\theta - \theta_{t-1})^2 + a F_t
    (\theta - \theta_t)^2` is least; equal importances give :math:`a`.
    :math:`F_t` is measured on the trained network and the step's images, and
    :math:`F_{\le t} = (1 - a) F_{<t} + a F_t` is kept beside the checkpoint.

    Args:
        share (float, optional): :math:`a`. Defaults to None, for the formula.
        norm_stats (str): ``'fuse'``, running means and variances as any
            weight, or ``'keep'`` those of the trained network. Defaults to
            'fuse'.
        importance (str | dict, optional): As in :class:`ConsolidationHook`,
            one that is measured when a step ends. The hook then belongs in
            ``every``. Defaults to None.
        n_samples (int, optional): Measure on this many images at most.
    """

    # before what measures or stores the weights of the finished step
    priority = 'ABOVE_NORMAL'
    trains_first_step = False

    def __init__(self,
                 share: float | None = None,
                 norm_stats: str = 'fuse',
                 importance: str | dict | None = None,
                 n_samples: int | None = None) -> None:
        if share is not None and not (is_number(share) and 0 <= share <= 1):
            raise ValueError(f'fusion.share is {share!r}: give a number from '
                             '0 to 1, or None for the formula.')
        if norm_stats not in ('fuse', 'keep'):
            raise ValueError("fusion.norm_stats is 'fuse' or 'keep', not "
                             f'{norm_stats!r}.')
        check_samples(n_samples)
        self.share = share
        self.norm_stats = norm_stats
        self.importance = None
        self.n_samples = n_samples
        self._trained = False  # a step of start_from ends as it was given
        if importance is not None:
            self.importance = build_part(importance, 'importance', Importance)
            if self.importance.along_the_path:
                raise ValueError('fusion.importance must be one that is '
                                 'measured when a step ends, such as '
                                 'mmseg_spwc.FisherImportance.')

    def try_on(self, student) -> None:
        """Refuse what cannot be fused, before training."""
        if self.share is None and student.num_new == 0:
            raise ConfigError(
                'A step that adds no class has the share 0, which would undo '
                'it: set fusion.share.')
        if student.carries:
            raise ConfigError("Branches that go on (rc.init='carry') cannot "
                              "be fused: set rc.init='merged'.")

    def before_train(self, runner) -> None:
        self._trained = True
        step = context_of(runner).step
        before = _importances_of(runner, step - 1)
        if self.importance and step > 0 and not before.exists():
            raise ConfigError(
                f'{before} is missing: importances are measured when a step '
                'ends. Put hooks.fusion into method.every, and train from '
                'step 0 or start_from it.')

    def after_train(self, runner) -> None:
        """Fuse; a repetition starts from unfused weights again."""
        step = context_of(runner).step
        student = unwrap(runner.model)
        student.to_plain()
        share = self._share_of(student)
        measured, kept = self._importances(runner, student, step)
        if step > 0 and self._trained:
            path = checkpoint_path(context_of(runner).work_dir, step - 1)
            self._fuse(student, load_step(path)['state_dict'], share,
                       measured, kept)
            print_log(f'Fused with the step before, share {share:.3f}',
                      'current')
        if self.importance is None:
            return
        together = {name: (1 - share) * kept[name] + share * new
                    if name in kept else new
                    for name, new in measured.items()}
        check_agreement(f'about the importances of step {step}',
                        importances=together)
        from_first_rank(
            write_tensors, _importances_of(runner, step),
            {name: value.cpu() for name, value in together.items()})

    def _share_of(self, student) -> float:
        if self.share is not None:
            return float(self.share)
        return math.sqrt(student.num_new / sum(student.channels))

    def _fuse(self, student, before: Mapping, share: float, measured: Mapping,
              kept: Mapping) -> None:
        params = dict(student.named_parameters())
        for key, value in student.state_dict().items():
            if key not in before or student.is_new(key) or \
                    not value.is_floating_point() or (
                        key not in params and self.norm_stats == 'keep'):
                continue
            parts = share_of_parameter(
                share, measured.get(key), kept.get(key),
                self._priority(student, key, value))
            value.copy_(torch.lerp(
                before[key].to(value), value, parts.to(value)))

    def _priority(self, student, key: str, value: Tensor) -> Tensor | None:
        """How much more than others a weight is held on to."""

    def _importances(self, runner, student, step: int) -> tuple[dict, dict]:
        """For this step, and for all before it as far as they are known."""
        if self.importance is None:
            return {}, {}
        params = trained_params(student)
        measured = measure(self.importance, runner, student, params, step,
                           self.n_samples)
        before = _importances_of(runner, step - 1)
        return measured, torch.load(
            before, map_location=next(iter(params.values())).device,
            weights_only=True) if before.exists() else {}


@HOOKS.register_module()
class SelfPacedFusionHook(WeightFusionHook):
    """Fusion in which spWC's weights say how far each old class goes back.

    The row of an old class has :math:`F_{<t}` times the class's weight, over
    the mean of all of them: the harder a class, the more stays of its row.
    Rows of old classes must not be frozen.
    """

    priority_unit = 'class'  # of the weights that spWC sets

    def __init__(self, *args, **kwargs) -> None:
        super().__init__(*args, **kwargs)
        self._priorities: Tensor | None = None

    def try_on(self, student) -> None:
        super().try_on(student)
        if not any(param.requires_grad and student.is_old_row(name)
                   for name, param in student.named_parameters()):
            raise ConfigError(
                'spWC decides how rows of old classes are fused, but they '
                'are frozen: set method.later.model.frozen=None.')

    def set_priorities(self, v: Sequence[float]) -> None:
        """Weight the row of every old class."""
        v = torch.as_tensor(v, dtype=torch.float32)
        self._priorities = v / v.mean() if v.any() else torch.ones_like(v)

    def _priority(self, student, key: str, value: Tensor) -> Tensor | None:
        if self._priorities is None or not student.is_old_row(key):
            return None
        first = student.first_channel(key)
        rows = self._priorities[first:first + len(value)]
        return rows.view(-1, *[1] * (value.dim() - 1)).to(value)


def share_of_parameter(share: float, new: Tensor | None = None,
                       old: Tensor | None = None,
                       priority: Tensor | None = None) -> Tensor:
    """Share of the trained network in each weight.

    ``share`` holds where all is equal: of weights without importances for this
    step and those before. ``priority`` multiplies the old ones.
    """
    if new is None or old is None:
        new = old = torch.ones(())
    if priority is not None:
        old = priority * old
    elif new is old:
        return torch.tensor(share)
    new, old = share * new, (1 - share) * old
    return (new / (new + old)).nan_to_num(share)  # if nobody needs it


def _importances_of(runner, step: int) -> Path:
    return Path(context_of(runner).work_dir, f'step_{step:02d}', FILE_NAME)
