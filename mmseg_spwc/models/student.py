"""What turns any network into the student of a sequence."""
import functools
import inspect
import re
from collections.abc import Callable, Mapping, Sequence

from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm

from mmseg_spwc.registry import MODELS
from mmseg_spwc.utils.options import check_options, regular_expression

from .growing import first_new
from .quantities import of_teacher
from .rc import (
    add_branches,
    check_init,
    export_branches,
    merge_branches,
)
from .recompute import called_frugally
from .recompute import recompute as recompute_part

EXTRA = '.conv_seg.extra.'  # a row that is no class


class Student:
    """Named losses, a frozen teacher, doubled branches and frozen norms.

    A mixin in front of a segmentor or classifier. The network gives its heads
    the channels of every step (``grow``), initialises the last ones
    (``initialise_new``), tells by the keys of ``state_dict`` which layer of a
    classifier they are of (``rows``), gives the labels of what
    ``forward(mode='tensor')`` returns (``active_labels``), and computes, in
    ``loss``, the :mod:`~mmseg_spwc.models.quantities` of a batch. A loss names
    those it needs as the arguments of its ``forward``.

    The teacher is the model of the step before; there is none unless a loss
    asks for it. It is a plain attribute: outside ``state_dict`` and the
    optimiser, always in eval mode, and moved together with the student.

    Args:
        channels (Sequence[int]): Output channels of each step so far.
        losses (dict): Loss configs by name.
        rc (dict, optional): Arguments of
            :func:`~mmseg_spwc.models.rc.add_branches`.
        frozen_norm (str, optional): A regular expression; batch norms in
            whose name it is found keep their statistics and parameters.
        frozen (str, optional): Parameters without gradient: ``'old_rows'``,
            the classifiers' rows of earlier steps, background included, or
            those in whose names a regular expression is found.
        train_only (str, optional): The only parameters with gradient:
            ``'new_rows'``, the classifiers' rows of this step, the extra one
            and those allocated ahead, or as above. All else is in eval mode.
        allocate (Sequence[int] | str, optional): Channels that later steps
            will add, to be there from this step on. A config writes
            ``'all'``.
        recompute (str, optional): Parts whose name this regular expression
            is found in keep their inputs alone and run again in the backward
            pass: less memory, more time, the same numbers.
        classifier (dict, optional): ``extra`` and ``zero_background`` of
            :class:`~mmseg_spwc.models.growing.GrowingClassifier`.
        **kwargs: Those of the network.
    """

    quantities: type  # of a batch: a TypedDict of models/quantities.py
    rows: re.Pattern  # finds the number of a classifier's layer in a key
    teacher: nn.Module | None = None
    train_only: str | None = None

    def __init__(self, *args, channels: Sequence[int], losses: dict,
                 rc: dict | None = None, frozen_norm: str | None = None,
                 frozen: str | None = None,
                 train_only: str | None = None,
                 allocate: Sequence[int] | None = None,
                 classifier: dict | None = None,
                 recompute: str | None = None,
                 **kwargs) -> None:
        super().__init__(*args, **kwargs)
        self.rc = rc
        self.channels = tuple(channels)
        if isinstance(allocate, str):
            raise ValueError(f"model.allocate is {allocate!r}: write 'all', "
                             'into a stage of the method.')
        self.ahead = tuple(allocate or ())
        self.of_classifier = dict(classifier or {})
        self.num_new = self.channels[-1]
        self.num_old = sum(self.channels[:-1])
        self.grow()
        self.losses = nn.ModuleDict({
            name: MODELS.build(config)
            for name, config in losses.items() if config is not None
        })
        # by the plain network's names: branches come and go
        self.frozen_norms = [] if frozen_norm is None else [
            name for name, part in self._found(frozen_norm, 'frozen_norm')
            if isinstance(part, _BatchNorm)
        ]
        for name in self.frozen_norms:
            self.get_submodule(name).requires_grad_(False)
        if rc is not None:
            check_options(add_branches, rc, 'rc')
            check_init(rc.get('init', 'merged'))  # it acts at a later step
            add_branches(self, **dict(rc, init='merged'))
        self.train_only = train_only
        self._trains = self._chosen(train_only or '', 'train_only')
        self._freeze(lambda name: not self._trains(name), 'train_only')
        if frozen is not None:
            self._freeze(self._chosen(frozen, 'frozen'), 'frozen')
        if recompute is not None:
            parts = self._found(recompute, 'recompute')
            if not parts:
                raise ValueError(f'recompute={recompute!r} matches no part of '
                                 'the network.')
            for _, part in parts:
                recompute_part(part)

    def _chosen(self, text: str, option: str) -> Callable:
        """Tell by a name whether an option means a parameter or module."""
        words = dict(
            new_rows=lambda name: self.is_new(name) or EXTRA in name,
            old_rows=self.is_old_row)
        return words.get(text) or regular_expression(text, option).search

    def _freeze(self, chosen: Callable, option: str) -> None:
        for name, param in self.named_parameters():
            if chosen(name):
                param.requires_grad_(False)
        if not any(param.requires_grad for param in self.parameters()):
            raise ValueError(
                f'model.{option} leaves nothing to train: correct the regular '
                "expression, or leave 'new_rows' out of a step that adds no "
                'class.')

    def is_new(self, key: str) -> bool:
        """Whether a ``state_dict`` key belongs to channels of this step, or
        of later ones."""
        row = self.rows.search(key)
        return row is not None and int(row[1]) >= first_new(self.channels)

    def is_old_row(self, key: str) -> bool:
        """Whether a key belongs to channels of the steps before."""
        return self.rows.search(key) is not None and not self.is_new(key)

    def first_channel(self, key: str) -> int:
        """The first channel of the classifier's layer that a key is of."""
        sizes = [added for added in self.channels if added]
        return sum(sizes[:int(self.rows.search(key)[1])])

    def _found(self, pattern: str, option: str) -> list:
        """Names and modules that an option's regular expression finds."""
        found = regular_expression(pattern, option)
        return [(name, part) for name, part in self.named_modules()
                if found.search(name)]

    def train(self, mode: bool = True) -> 'Student':
        """Set the mode, but never for what is frozen."""
        super().train(mode)
        if self.train_only is not None:
            for name, module in self.named_modules():
                if name and not self._trains(name):
                    module.training = False
        for name in self.frozen_norms:
            for part in self.get_submodule(name).modules():
                if isinstance(part, _BatchNorm):  # alone, or in a branch
                    part.eval()
        return self

    def try_losses(self) -> None:
        """Refuse losses that cannot train what ``train_only`` leaves."""

    def carried_branches(self) -> dict | None:
        """The trained branches, if the next step shall go on with them."""
        if not self.carries:
            return None
        return export_branches(self) or None

    @property
    def carries(self) -> bool:
        """Whether trained branches go on from step to step."""
        return self.rc is not None and self.rc.get('init') == 'carry'

    def to_plain(self) -> None:
        """Fold doubled convolutions: what remains is the plain network."""
        merge_branches(self)

    @property
    def needs_teacher(self) -> bool:
        """Whether a loss asks for the previous model."""
        return any(self.asks_for(name) for name in of_teacher(self.quantities))

    def set_teacher(self, teacher: nn.Module) -> None:
        """Take a copy of the previous model as the frozen teacher."""
        teacher.eval().requires_grad_(False)
        self.__dict__['teacher'] = teacher

    def required_teacher(self) -> nn.Module:
        """Return the teacher, or say that there is none."""
        if self.teacher is None:
            raise RuntimeError(
                'A loss asks for the previous model, but there is none: at '
                'the first step use losses that do not distil.')
        return self.teacher

    def _apply(self, fn, *args, **kwargs):
        if self.teacher is not None:
            self.teacher._apply(fn, *args, **kwargs)
        return super()._apply(fn, *args, **kwargs)

    @classmethod
    def arguments_of(cls, loss: nn.Module) -> tuple:
        """Return what a loss asks for; raise if it is not provided."""
        return _arguments(type(loss), cls)

    def asks_for(self, name: str) -> bool:
        """Whether any loss names a quantity."""
        return any(name in self.arguments_of(loss)
                   for loss in self.losses.values())

    def call(self, loss: nn.Module, batch: Mapping):
        """Call a loss with the quantities that it asks for."""
        return called_frugally(loss, **{
            name: batch[name] for name in self.arguments_of(loss)})

    def named_losses(self, batch: Mapping) -> dict:
        """Compute every loss: ``loss_NAME``, or the names it gives itself."""
        values = {}
        for name, loss in self.losses.items():
            value = self.call(loss, batch)
            values.update(value if isinstance(value, dict) else
                          {f'loss_{name}': value})
        return values


@functools.cache
def _arguments(loss: type, student: type) -> tuple:
    """What a loss is given; a default stands for what there is not."""
    known = student.quantities.__annotations__
    itself, *parameters = inspect.signature(loss.forward).parameters.values()
    names = []
    for parameter in parameters:
        if parameter.name in known:
            names.append(parameter.name)
        elif parameter.default is parameter.empty:
            raise TypeError(
                f'{loss.__name__}.forward asks for {parameter.name!r}, which '
                f'a {student.__name__} does not provide; known are '
                f'{", ".join(known)}.')
    return tuple(names)
