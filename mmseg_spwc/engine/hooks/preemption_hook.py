"""Stops a run that is asked to, so that nothing is lost."""
from mmengine.hooks import Hook

from mmseg_spwc.registry import HOOKS

from ..stop_request import StopRequest, current_request
from ..stops import Preempted
from .resume_state_hook import ResumeStateHook
from .safe_checkpoint_hook import SafeCheckpointHook


@HOOKS.register_module()
class PreemptionHook(Hook):
    """Answers SIGTERM and SIGINT: finish the iteration, save, stop.

    The checkpoint lies exactly where the run stopped, inside an epoch too
    (:class:`ResumableEpochLoop`), so that ``--resume`` gives bit for bit what
    the uninterrupted run would have given. While scoring there is nothing to
    save: a resumed run scores again. All ranks stop together as soon as one
    of them was asked to; they compare one number an iteration.
    """

    # after everything that belongs to an iteration, checkpoints included
    priority = 'LOWEST'

    def __init__(self) -> None:
        self._request: StopRequest | None = None

    def before_run(self, runner) -> None:
        self._request = current_request()

    def after_train_iter(self, runner, batch_idx, data_batch=None,
                         outputs=None) -> None:
        # gradients that wait for the next iteration are not stored
        if runner.optim_wrapper.should_update() and self._asked():
            raise Preempted(f'{self._save(runner)} Go on with --resume.')

    def after_val_iter(self, runner, batch_idx, data_batch=None,
                       outputs=None) -> None:
        self._stop_scoring()

    def after_test_iter(self, runner, batch_idx, data_batch=None,
                        outputs=None) -> None:
        self._stop_scoring()

    def _asked(self) -> bool:
        return self._request is not None and self._request.agreed()

    def _stop_scoring(self) -> None:
        if self._asked():
            raise Preempted('The run was stopped while it scored a model. '
                            'Go on with --resume.')

    def _save(self, runner) -> str:
        stopped = (f'The run was stopped after iteration {runner.iter + 1} '
                   f'of {runner.max_iters}')
        for hook in runner.hooks:
            if isinstance(hook, ResumeStateHook):
                hook.take_random_states()
        for hook in runner.hooks:
            if isinstance(hook, SafeCheckpointHook):
                return f'{stopped} and saved to {hook.save_now(runner)}.'
        return (f'{stopped}, without a SafeCheckpointHook that could save '
                'it.')
