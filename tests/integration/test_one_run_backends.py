"""W&B and MLflow show the whole sequence as one run on one axis."""
import pytest
from digit_runs import digits, train
from mmengine.logging import MessageHub
from wandb_files import history

from mmseg_spwc.registry import VISBACKENDS


def sequence(folder, kind):
    """Train two tasks with the options that the documentation names."""
    cfg = digits(folder, **{
        'scenario.name': '2', 'train_cfg.max_epochs': 1,
        'default_hooks.logger.interval': 6,
        'visualizer.vis_backends.0.type': 'mmseg_spwc.SequenceVisBackend',
        'visualizer.vis_backends.0.backend.type': kind})
    return train(cfg)


def later(folder, kind):
    """The backend of another step, as a resumed process has it."""
    MessageHub.get_instance(f'fresh {folder}')  # the one of no other test
    return VISBACKENDS.build(dict(
        type='mmseg_spwc.SequenceVisBackend', backend=dict(type=kind),
        save_dir=str(folder / 'step_02/20260101/vis_data')))


def expected(record):
    """Place and step of every loss that is logged, counted by hand."""
    first, second = (
        entry['curves']['iterations'][-1] for entry in record.steps)
    return [(i, 0) for i in range(6, first + 1, 6)] + [
        (first + i, 1) for i in range(6, second + 1, 6)]


@pytest.fixture
def wandb(monkeypatch):
    monkeypatch.setenv('WANDB_MODE', 'offline')
    monkeypatch.setenv('WANDB_SILENT', 'true')
    yield pytest.importorskip('wandb', reason='wandb is not installed')
    __import__('wandb').finish()


def test_wandb_has_one_run_and_one_axis(wandb, tmp_path):
    record = sequence(tmp_path / 'run', 'WandbVisBackend')
    assert wandb.run.name == 'run'
    wandb.finish()
    (path, ) = tmp_path.glob('run/sequence/wandb/offline-run-*/*.wandb')
    rows = history(path)
    losses = [(row['sequence/iteration'], row['sequence/step'])
              for row in rows if 'loss' in row]
    assert losses == expected(record)
    places = [row['sequence/iteration'] for row in rows]
    assert places == sorted(places)
    ends = [row['sequence/iteration'] for row in rows if 'accuracy' in row]
    assert ends == [losses[len(losses) // 2 - 1][0], losses[-1][0]]


def test_wandb_goes_on_with_the_run_and_ends_that_of_others(wandb, tmp_path):
    first = later(tmp_path / 'a', 'WandbVisBackend')
    first.add_scalars(dict(loss=1.), step=3)
    name = wandb.run.id
    first.close()
    later(tmp_path / 'a', 'WandbVisBackend').add_scalar('loss', 2., 4)
    assert wandb.run.id == name
    wandb.finish()
    later(tmp_path / 'a', 'WandbVisBackend').add_scalar('loss', 2., 4)
    assert wandb.run.id == name
    later(tmp_path / 'b', 'WandbVisBackend').add_scalar('loss', 2., 4)
    assert wandb.run.id != name


@pytest.fixture
def mlflow():
    found = pytest.importorskip('mlflow', reason='mlflow is not installed')
    uri = found.get_tracking_uri()
    yield found
    found.end_run()
    found.set_tracking_uri(uri)


def test_mlflow_has_one_run_and_one_axis(mlflow, tmp_path):
    record = sequence(tmp_path / 'run', 'MLflowVisBackend')
    client = mlflow.MlflowClient()
    (experiment, ) = client.search_experiments()
    (run, ) = client.search_runs([experiment.experiment_id])
    losses = [m.step for m in client.get_metric_history(
        run.info.run_id, 'loss')]
    assert losses == [place for place, _ in expected(record)]
    steps = client.get_metric_history(run.info.run_id, 'sequence/step')
    assert {(m.step, m.value) for m in steps} >= set(expected(record))
    assert run.info.run_name == 'run'
    assert run.data.params['train_cfg.max_epochs'] == '1'


def test_mlflow_goes_on_after_the_end_and_in_another_process(
        mlflow, tmp_path):
    for step, loss in enumerate((3., 2., 1.)):
        backend = later(tmp_path / 'a', 'MLflowVisBackend')
        backend.add_scalars(dict(loss=loss), step=step)
        backend.backend._mlflow.end_run()
    name = (tmp_path / 'a/sequence/mlflow_id').read_text()
    values = mlflow.MlflowClient().get_metric_history(name, 'loss')
    assert [(m.step, m.value) for m in values] == [(0, 3.), (1, 2.), (2, 1.)]
