"""From the model of one step to the student of the next."""
import copy

from mmengine.dist import broadcast
from mmengine.hooks import Hook
from mmengine.logging import print_log
from mmengine.model import is_model_wrapper
from mmengine.runner import CheckpointLoader

from mmseg_spwc.models.foreign_weights import load_backbone_weights
from mmseg_spwc.registry import HOOKS, MODELS

from ..checkpoint import load_step


@HOOKS.register_module()
class StepTransitionHook(Hook):
    """Gives a step its first weights and, if a loss asks for it, a teacher.

    The first step starts from ``backbone_weights``; a later one from the
    weights of the step before, all of which must fit, and from the chosen
    initialisation of the new classifier. A resumed step keeps the weights
    that MMEngine has loaded and gets its teacher only.

    Args:
        step (int): The step.
        previous (str, optional): Checkpoint of the step before.
        backbone_weights (str, optional): File or URL of backbone weights in
            any of the formats of :mod:`mmseg_spwc.models.foreign_weights`.
        classifier_init (str): See
            :meth:`GrowingClassifier.initialise_new`. Defaults to 'default'.
    """

    # before every hook that looks at the weights
    priority = 'VERY_HIGH'

    def __init__(self,
                 step: int,
                 previous: str | None = None,
                 backbone_weights: str | None = None,
                 classifier_init: str = 'default') -> None:
        self.step = step
        self.previous = previous
        self.backbone_weights = backbone_weights
        self.classifier_init = classifier_init

    def before_train(self, runner) -> None:
        model = runner.model.module if is_model_wrapper(
            runner.model) else runner.model
        resumed = runner.iter > 0
        if self.previous is None:
            if self.backbone_weights and not resumed:
                self._load_backbone(model)
            return
        state = load_step(self.previous)['state_dict']
        if not resumed:
            load_previous(model, state)
            for head in model.heads():
                head.conv_seg.initialise_new(self.classifier_init)
            for tensor in model.state_dict().values():
                broadcast(tensor)
        if model.needs_teacher:
            model.set_teacher(build_teacher(runner.cfg.model, state, model))

    def _load_backbone(self, model) -> None:
        state = CheckpointLoader.load_checkpoint(
            self.backbone_weights, map_location='cpu')
        load_backbone_weights(model.backbone, state, self.backbone_weights)
        print_log(f'Backbone weights: {self.backbone_weights}', 'current')


def load_previous(model, state: dict) -> None:
    """Load the previous step's weights; only new channels may be absent.

    Raises:
        ValueError: If the weights are those of another network.
    """
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


def build_teacher(config: dict, state: dict, student):
    """Build the model of the step before and load its weights."""
    config = copy.deepcopy(config)
    config.channels = list(student.channels[:-1])
    config.losses = {}
    teacher = MODELS.build(config)
    teacher.load_state_dict(state)
    device = next(student.parameters()).device
    return teacher.to(device)
