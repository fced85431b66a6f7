"""TensorBoard shows the whole sequence on one axis."""
import pytest
from digit_runs import digits, train
from mmengine.logging import MessageHub

from mmseg_spwc.registry import VISBACKENDS


def scalars_of(folder):
    events = pytest.importorskip(
        'tensorboard.backend.event_processing.event_accumulator')
    found = events.EventAccumulator(str(folder))
    found.Reload()
    return {name: [(e.step, e.value) for e in found.Scalars(name)]
            for name in found.Tags()['scalars']}


def test_iterations_count_on_from_step_to_step(tmp_path):
    cfg = digits(tmp_path / 'run', **{
        'train_cfg.max_epochs': 1, 'default_hooks.logger.interval': 6})
    cfg.visualizer.vis_backends = [
        dict(type='LocalVisBackend'),
        dict(type='mmseg_spwc.SequenceVisBackend',
             backend=dict(type='TensorboardVisBackend'))]
    record = train(cfg)
    length = record.steps[0]['curves']['iterations'][-1]
    scalars = scalars_of(tmp_path / 'run/sequence')
    places = [place for place, _ in scalars['loss']]
    expected = [t * length + i for t in range(3)
                for i in range(6, length + 1, 6)]
    assert places == expected and len(places) >= 6
    staircase = dict(scalars['sequence/step'])
    assert all(value == (place - 1) // length
               for place, value in staircase.items() if place)


def test_scores_stand_at_the_newest_iteration(tmp_path):
    MessageHub.get_instance('a_fresh_step')
    backend = VISBACKENDS.build(
        dict(type='mmseg_spwc.SequenceVisBackend',
             save_dir=str(tmp_path / 'step_00/20260101/vis_data'),
             backend=dict(type='TensorboardVisBackend')))
    backend.add_scalars(dict(loss=1.), step=40)
    backend.add_scalars(dict(mIoU=.5), step=2)  # an epoch
    backend.close()
    scalars = scalars_of(tmp_path / 'sequence')
    assert [place for place, _ in scalars['mIoU']] == [40]


def test_scores_of_a_step_that_trained_before_stand_at_its_end(tmp_path):
    """Killed between training and scoring: only the hub knows how far."""
    hub = MessageHub.get_instance('trained_before')
    hub.update_info('iter', 70)
    backend = VISBACKENDS.build(
        dict(type='mmseg_spwc.SequenceVisBackend',
             save_dir=str(tmp_path / 'step_00/20260101/vis_data'),
             backend=dict(type='TensorboardVisBackend')))
    backend.add_scalars(dict(mIoU=.5), step=0)
    backend.close()
    scalars = scalars_of(tmp_path / 'sequence')
    assert [place for place, _ in scalars['mIoU']] == [70]
