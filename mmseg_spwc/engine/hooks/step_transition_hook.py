"""From the model of one step to the student of the next."""
import copy
from collections.abc import Sequence

from mmengine.dist import broadcast
from mmengine.hooks import Hook
from mmengine.logging import print_log

from mmseg_spwc.errors import input_errors
from mmseg_spwc.models.foreign_weights import load_backbone_weights
from mmseg_spwc.models.rc import import_branches
from mmseg_spwc.registry import HOOKS, MODELS
from mmseg_spwc.runtime.checkpoint import (
    fitting_weights,
    load_plain,
    load_step,
)
from mmseg_spwc.utils.distributed import unwrap

from ..sharded_model import ShardedModel


@HOOKS.register_module()
class StepTransitionHook(Hook):
    """Gives a step its first weights and, if a loss asks for it, a teacher.

    The first step starts from ``backbone_weights``, and then from what fits
    of ``load_from``; a later one from the weights of the step before, all of
    which must fit, and from the chosen initialisation of the new classifier.
    Student and teacher come from one reading of them. A resumed step keeps
    the weights that MMEngine has loaded and gets its teacher only.

    Args:
        step (int): The step.
        previous (str, optional): Checkpoint of the step before.
        backbone_weights (str, optional): File or URL of backbone weights in
            any of the formats of :mod:`mmseg_spwc.models.foreign_weights`.
        load_from (str, optional): File or URL of a checkpoint, of mmseg or
            MMPretrain or ours; the weights whose names and shapes fit are
            taken.
        classifier_init (str): See
            :meth:`GrowingClassifier.initialise_new` of segmentors and
            :meth:`GrowingLinear.initialise_new` of classifiers. Defaults to
            'default'.
        share (float, optional): Part of the background's probability that
            new channels start with, for ``classifier_init='share'``.
        teacher (bool): Give a teacher even if no loss asks for one, since a
            hook or spWC's weights do. Defaults to False.
    """

    # before every hook that looks at the weights
    priority = 'VERY_HIGH'

    def __init__(self,
                 step: int,
                 previous: str | None = None,
                 backbone_weights: str | None = None,
                 load_from: str | None = None,
                 classifier_init: str = 'default',
                 share: float | None = None,
                 teacher: bool = False) -> None:
        self.step = step
        self.previous = previous
        self.backbone_weights = backbone_weights
        self.load_from = load_from
        self.classifier_init = classifier_init
        self.init_options = {} if share is None else dict(share=share)
        self.teacher = teacher

    def try_on(self, student) -> None:
        """Refuse a start that a network does not have, before training."""
        if self.step > 0:
            student.initialise_new(self.classifier_init, **self.init_options)

    def before_train(self, runner) -> None:
        student, config = unwrap(runner.model), runner.cfg.model
        begins = runner.iter == 0  # else it is resumed
        teaches = self.previous is not None and (
            self.teacher or student.needs_teacher)
        with input_errors(f'first weights of step {self.step}'):
            before = load_step(self.previous) if self.previous is not None \
                and (begins or teaches) else None
            if begins:
                self._give_first_weights(student, config, before)
        if teaches:
            _give_teacher(student, config, before['state_dict'])

    def after_train(self, runner) -> None:
        if isinstance(runner.model, ShardedModel):
            runner.model.gather()

    def _give_first_weights(self, student, config: dict,
                            before: dict | None) -> None:
        """Load the weights into a plain network, then into the student.

        Only a plain network has all names and shapes to check them by; the
        student's doubled layers take its weights for both branches.
        """
        if not (before or self.backbone_weights or self.load_from):
            return
        source = build_plain(config, student.channels)
        if self.backbone_weights:
            self._load_backbone(source.backbone)
            student.backbone.load_state_dict(source.backbone.state_dict())
        if self.load_from:
            with input_errors('load_from'):
                student.load_state_dict(
                    fitting_weights(source, self.load_from), strict=False)
        if before is not None:
            source.load_state_dict(student.state_dict(), strict=False)
            load_previous(source, before['state_dict'])
            source.initialise_new(self.classifier_init, **self.init_options)
            student.load_state_dict(source.state_dict())
            if before.get('branches') is not None and student.carries:
                import_branches(student, before['branches'])
        for tensor in student.state_dict().values():
            broadcast(tensor)

    def _load_backbone(self, backbone) -> None:
        with input_errors('backbone_weights'):
            load_backbone_weights(backbone,
                                  load_plain(self.backbone_weights),
                                  self.backbone_weights)
        print_log(f'Backbone weights: {self.backbone_weights}', 'current')


def _give_teacher(student, config: dict, state: dict) -> None:
    teacher = build_plain(
        dict(config, allocate=None), student.channels[:-1])
    # without the rows that were allocated ahead
    teacher.load_state_dict({key: state[key] for key in teacher.state_dict()})
    student.set_teacher(teacher.to(next(student.parameters()).device))


def build_plain(config: dict, channels: Sequence[int]):
    """Build the plain network of a step, without losses and branches."""
    config = dict(
        copy.deepcopy(config), channels=list(channels), losses={}, rc=None,
        train_only=None, frozen=None)
    config.pop('pseudo_label', None)  # a segmentor's only
    return MODELS.build(config)


def load_previous(model, state: dict) -> None:
    """Load the previous step's weights; only new channels may be absent."""
    wanted = model.state_dict()
    new = {key for key in wanted if model.is_new(key)}
    missing = wanted.keys() - state.keys() - new
    unexpected = state.keys() - wanted.keys()
    shapes = [
        key for key in wanted.keys() & state.keys()
        if wanted[key].shape != state[key].shape
    ]
    for keys, what in ((missing, 'lacks'), (unexpected, 'has unknown'),
                       (shapes, 'has another shape for')):
        if keys:
            raise ValueError(
                f'The checkpoint of the step before {what} '
                f'{sorted(keys)[0]} (and {len(keys) - 1} more): it belongs '
                'to another network or scenario.')
    model.load_state_dict(state, strict=False)
