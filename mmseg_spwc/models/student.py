"""What turns any network into the student of a sequence."""
import re
from collections.abc import Sequence

from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from mmseg_spwc.registry import MODELS

from .loss_requests import LossRequests
from .rc import (
    add_branches,
    export_branches,
    is_branched,
    merge_branches,
)

# label of what does not count, as in torch's losses
IGNORED = -100


class Student:
    """Named losses, a frozen teacher, doubled branches and frozen norms.

    A mixin in front of a segmentor or classifier. The network says how its
    classifier grows (:meth:`grow`, :meth:`initialise_new`, :meth:`is_new`)
    and what its losses may ask for (``loss_inputs``).

    The teacher is the model of the step before. It is a plain attribute:
    outside ``state_dict`` and the optimiser, always in eval mode, and moved
    together with the student.

    Args:
        channels (Sequence[int]): Output channels of each step so far.
        losses (dict): Loss configs by name.
        rc (dict, optional): Arguments of
            :func:`~mmseg_spwc.models.rc.add_branches` for representation
            compensation. Defaults to None.
        frozen_norm (str, optional): Batch norms whose name this regular
            expression is found in keep their statistics and parameters.
            Defaults to None.
        **kwargs: Those of the network.
    """

    loss_inputs: type[LossRequests]
    teacher: nn.Module | None = None

    def __init__(self,
                 *args,
                 channels: Sequence[int],
                 losses: dict,
                 rc: dict | None = None,
                 frozen_norm: str | None = None,
                 **kwargs) -> None:
        super().__init__(*args, **kwargs)
        self.rc = rc
        self.channels = tuple(channels)
        self.grow()
        self.losses = nn.ModuleDict({
            name: MODELS.build(config)
            for name, config in losses.items() if config is not None
        })
        # by the plain network's names: branches come and go
        self.frozen_norms = [] if frozen_norm is None else [
            name for name, module in self.named_modules()
            if isinstance(module, _BatchNorm)
            and re.search(frozen_norm, name)
        ]
        for name in self.frozen_norms:
            self.get_submodule(name).requires_grad_(False)
        if rc is not None:
            add_branches(self, **dict(rc, init='merged'))

    def grow(self) -> None:
        """Give the heads the channels of every step."""
        raise NotImplementedError

    def initialise_new(self, policy: str) -> None:
        """Initialise the channels of the last step from the earlier ones."""
        raise NotImplementedError

    def is_new(self, key: str) -> bool:
        """Whether a ``state_dict`` key belongs to this step's channels."""
        raise NotImplementedError

    def active_labels(self, samples: Sequence) -> Tensor:
        """Labels of the logits that ``forward(mode='tensor')`` gives.

        They are (B,), or (B, H, W) of pixels; :data:`IGNORED` is left out.
        """
        raise NotImplementedError

    def train(self, mode: bool = True) -> 'Student':
        """Set the mode, but never for frozen norms."""
        super().train(mode)
        for name in self.frozen_norms:
            for part in self.get_submodule(name).modules():
                if isinstance(part, _BatchNorm):  # alone, or in a branch
                    part.eval()
        return self

    def carried_branches(self) -> dict | None:
        """The trained branches, if the next step shall go on with them."""
        carries = self.rc is not None and self.rc.get('init') == 'carry'
        if carries and is_branched(self):
            return export_branches(self)
        return None

    def to_plain(self) -> None:
        """Fold doubled convolutions: what remains is the plain network."""
        merge_branches(self)

    @property
    def needs_teacher(self) -> bool:
        """Whether a loss asks for the previous model."""
        return any(
            name.startswith('old_') for loss in self.losses.values()
            for name in self.loss_inputs.argument_names(loss))

    def set_teacher(self, teacher: nn.Module) -> None:
        """Take a copy of the previous model as the frozen teacher."""
        teacher.eval().requires_grad_(False)
        self.__dict__['teacher'] = teacher

    def _apply(self, fn, *args, **kwargs):
        if self.teacher is not None:
            self.teacher._apply(fn, *args, **kwargs)
        return super()._apply(fn, *args, **kwargs)

    def named_losses(self, batch: LossRequests) -> dict:
        """Compute every loss: ``loss_NAME``, or the names it gives itself."""
        values = {}
        for name, loss in self.losses.items():
            value = batch.call(loss)
            values.update(value if isinstance(value, dict) else
                          {f'loss_{name}': value})
        return values
