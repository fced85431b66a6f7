"""Sweeps on a real Ray on this machine."""
import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from small_sweeps import ROOT, STRENGTH, TINY, leaf, write_sweep

from mmseg_spwc.record import Record

pytest.importorskip('ray', reason='sweeps need Ray: pip install -e .[ray]')
pytestmark = pytest.mark.slow
SLOW = {**TINY, 'train_cfg.max_epochs': 60}  # long enough to be killed


@pytest.fixture(autouse=True)
def no_courtesy(monkeypatch):
    """Ray's workers are nice to other programs, such as other tests."""
    monkeypatch.setenv('RAY_worker_niceness', '0')


def command(sweep: Path, *options) -> list:
    return [sys.executable, str(ROOT / 'tools/sweep.py'), str(sweep),
            '--cpus', '2', *options]


def run(sweep: Path, *options, **kwargs) -> subprocess.CompletedProcess:
    done = subprocess.run(
        command(sweep, *options), cwd=ROOT, capture_output=True, text=True,
        timeout=500, **kwargs)
    assert 'Traceback' not in done.stderr, done.stderr
    return done


def trial(sweep: Path, name: str) -> Path:
    return sweep.parent / 'sweep/trials' / name


def result(sweep: Path) -> dict:
    return json.loads((sweep.parent / 'sweep/sweep.json').read_text())


def attempts(folder: Path) -> int:
    return len((folder / 'attempts.txt').read_text().splitlines())


def wait_for(condition, what: str, seconds: int = 200):
    for _ in range(10 * seconds):
        found = condition()
        if found:
            return found
        time.sleep(0.1)
    return pytest.fail(f'{what} did not happen')


def training(folder: Path) -> int | None:
    """The process that trains in a folder, once it has a checkpoint."""
    if not list(folder.glob('step_*/epoch_*.pth')):
        return None
    try:
        return json.loads((folder / 'run.lock').read_text())['pid']
    except (OSError, ValueError):
        return None


def resumed(folder: Path) -> bool:
    """Whether a run went on inside a step, after its first epoch."""
    logs = [log.read_text() for log in folder.glob('step_*/*/*.log')]
    return any(int(epoch) > 0 for text in logs
               for epoch in re.findall(r'resumed epoch: (\d+)', text))


def summary(folder: Path) -> dict:
    record = Record.read(folder)
    return dict(record.content['summary'], kpi=record.steps[-1]['kpi'])


def test_a_sweep_from_end_to_end(tmp_path):
    sweep = write_sweep(
        tmp_path / 's.py',
        methods=dict(
            finetune=leaf('finetune'),
            ewc=dict(config=leaf('ewc'), grid={STRENGTH: [0., 1000.]})),
        seeds=[0, 1])
    done = run(sweep)
    assert done.returncode == 0, done.stderr
    content = result(sweep)
    assert len(content['runs']) == 6
    assert all(r['finished'] and r['attempts'] == 1 for r in content['runs'])
    best = [s for s in content['settings'] if s['best']]
    assert [s['method'] for s in best] == ['finetune', 'ewc']
    rivals = [s for s in content['settings'] if s['method'] == 'ewc']
    assert best[1] == max(rivals, key=lambda s: s['held_out']['mean'])
    # step 0 was trained once for each seed, and handed to all
    firsts = list((tmp_path / 'sweep/step_0').iterdir())
    assert len(firsts) == 2
    for seed in (0, 1):
        texts = {(trial(sweep, r['name']) / 'config.py').read_text()
                 for r in content['runs'] if r['seed'] == seed}
        starts = {re.search(r"start_from = '(.*)'", t)[1] for t in texts}
        assert len(starts) == 1 and '/step_0/' in starts.pop()
    # EWC with strength 0 is finetuning
    assert summary(trial(sweep, 'ewc_2_strength=0_seed1'))['kpi'] == summary(
        trial(sweep, 'finetune_2_seed1'))['kpi']
    page = (tmp_path / 'sweep/report.html').read_text()
    assert 'Sweep s' in page and STRENGTH in page
    assert re.search(r'finetune_2_seed\d: finished, held-out accuracy \d',
                     done.stdout)
    # once more: nothing is repeated
    records = {p: p.stat().st_mtime_ns
               for p in (tmp_path / 'sweep').rglob('record.json')}
    again = run(sweep)
    assert again.returncode == 0 and ' running' not in again.stdout
    assert records == {p: p.stat().st_mtime_ns for p in records}
    assert result(sweep) == content


def test_a_shared_step_0_changes_nothing(tmp_path):
    methods = dict(finetune=leaf('finetune'), ewc=leaf('ewc'))
    together = write_sweep(tmp_path / 's.py', methods=methods)
    assert run(together).returncode == 0
    (tmp_path / 'alone').mkdir()
    alone = write_sweep(tmp_path / 'alone/s.py',
                        methods=dict(ewc=leaf('ewc')))
    assert run(alone).returncode == 0
    assert not (tmp_path / 'alone/sweep/step_0').exists()
    assert summary(trial(alone, 'ewc_2_seed0')) == summary(
        trial(together, 'ewc_2_seed0'))


def test_a_killed_trial_goes_on_where_it_was(tmp_path):
    methods = dict(ewc=leaf('ewc'))
    sweep = write_sweep(tmp_path / 's.py', methods=methods, cfg_options=SLOW)
    folder = trial(sweep, 'ewc_2_seed0')
    with subprocess.Popen(command(sweep), cwd=ROOT, text=True,
                          stdout=subprocess.PIPE) as driver:
        pid = wait_for(lambda: training(folder), 'training')
        os.kill(pid, signal.SIGKILL)
        said, _ = driver.communicate(timeout=500)
    assert driver.returncode == 0, said
    assert 'running, attempt 2' in said
    assert attempts(folder) == 2
    assert resumed(folder)
    (tmp_path / 'whole').mkdir()
    whole = write_sweep(tmp_path / 'whole/s.py', methods=methods,
                        cfg_options=SLOW)
    assert run(whole).returncode == 0
    assert summary(folder) == summary(trial(whole, 'ewc_2_seed0'))


def with_hook(folder: Path, method: str, body: str) -> dict:
    """A sweep in whose config a hook does harm; options to run it with."""
    (folder / 'harm.py').write_text(
        'import resource\n'
        'from mmengine.hooks import Hook\n'
        'from mmengine.registry import HOOKS\n\n'
        '@HOOKS.register_module()\n'
        f'class Harm(Hook):\n    def {method}(self, runner):\n'
        f'        {body}\n')
    (folder / 'harmed.py').write_text(
        f'_base_ = {leaf("finetune")!r}\n'
        "custom_imports = dict(imports=['mmseg_spwc.classification', "
        "'harm'])\ncustom_hooks = [dict(type='Harm')]\n")
    path = f'{folder}:{os.environ.get("PYTHONPATH", "")}'
    return dict(env=dict(os.environ, PYTHONPATH=path))


def test_a_failing_trial_does_not_stop_the_others(tmp_path):
    options = with_hook(tmp_path, 'after_train_epoch',
                        "raise RuntimeError('broken on purpose')")
    sweep = write_sweep(
        tmp_path / 's.py', retries=1, methods=dict(
            bad='harmed.py', finetune=leaf('finetune'), si=leaf('si')))
    done = run(sweep, **options)
    assert done.returncode == 1
    assert 'failed: bad_2_seed0: RuntimeError: broken on purpose (' in \
        done.stderr
    assert attempts(trial(sweep, 'bad_2_seed0')) == 2  # tried once more
    runs = {r['method']: r for r in result(sweep)['runs']}
    assert runs['finetune']['finished'] and runs['si']['finished']
    assert not runs['bad']['finished']
    assert runs['bad']['reason'] == 'RuntimeError: broken on purpose'
    assert (tmp_path / 'sweep/report.html').exists()


def test_the_driver_killed_and_started_again_repeats_nothing(tmp_path):
    sweep = write_sweep(
        tmp_path / 's.py', cfg_options=SLOW, methods=dict(
            si=dict(config=leaf('si'), cfg_options={
                'train_cfg.max_epochs': 1}),
            finetune=leaf('finetune'), lwf=leaf('lwf')))
    done, begun = (trial(sweep, f'{n}_2_seed0') for n in ('si', 'lwf'))
    with subprocess.Popen(command(sweep), cwd=ROOT,
                          stdout=subprocess.DEVNULL) as driver:
        wait_for(lambda: (done / 'record.json').exists() and
                 Record.read(done).content['status'] == 'finished', 'si')
        pid = wait_for(lambda: training(begun), 'training')
        driver.send_signal(signal.SIGKILL)
    wait_for(lambda: not Path(f'/proc/{pid}').exists(), 'end of the trial')
    before = (done / 'record.json').stat().st_mtime_ns
    files = set(begun.glob('step_*/epoch_*.pth'))
    assert files
    again = run(sweep)
    assert again.returncode == 0, again.stderr
    assert (done / 'record.json').stat().st_mtime_ns == before
    assert attempts(done) == 1 and attempts(begun) == 2
    assert all(r['finished'] for r in result(sweep)['runs'])
    assert resumed(begun)


def test_ctrl_c_lets_trials_save_where_they_are(tmp_path):
    sweep = write_sweep(tmp_path / 's.py', cfg_options=SLOW,
                        methods=dict(finetune=leaf('finetune')))
    folder = trial(sweep, 'finetune_2_seed0')
    with subprocess.Popen(command(sweep), cwd=ROOT, text=True,
                          stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE) as driver:
        wait_for(lambda: training(folder), 'training')
        driver.send_signal(signal.SIGTERM)
        _, said = driver.communicate(timeout=100)
    assert driver.returncode == 75, said
    assert 'Run the same command to go on' in said
    assert not (folder / 'run.lock').exists()
    assert 'was stopped after iteration' in (
        folder / 'train.log').read_text()
    assert run(sweep).returncode == 0


def test_two_drivers_on_one_folder(tmp_path):
    sweep = write_sweep(tmp_path / 's.py', cfg_options=SLOW,
                        methods=dict(finetune=leaf('finetune')))
    with subprocess.Popen(command(sweep), cwd=ROOT,
                          stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL) as driver:
        wait_for((tmp_path / 'sweep/run.lock').exists, 'the lock')
        second = run(sweep)
        driver.send_signal(signal.SIGTERM)
        driver.wait(timeout=100)
    assert second.returncode == 2
    assert 'is in use by process' in second.stderr


def test_a_full_disk_stops_the_sweep(tmp_path):
    options = with_hook(
        tmp_path, 'before_train',
        'resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))')
    sweep = write_sweep(
        tmp_path / 's.py', resources=dict(cpus=2),
        methods=dict(a='harmed.py', b=leaf('si')))
    done = run(sweep, **options)
    assert done.returncode == 74
    told = done.stderr.strip().splitlines()[-1]
    assert told.startswith('error: a_2_seed0: Cannot write ')
    assert 'make room and run the same command to go on' in told
    assert not (trial(sweep, 'b_2_seed0') / 'record.json').exists()


@pytest.mark.parametrize('address', ['127.0.0.1:1', 'auto', 'nowhere'])
def test_an_address_nobody_answers_at(tmp_path, address):
    sweep = write_sweep(tmp_path / 's.py',
                        methods=dict(finetune=leaf('finetune')))
    begin = time.monotonic()
    done = subprocess.run(command(sweep, '--address', address), cwd=ROOT,
                          capture_output=True, text=True, timeout=200)
    assert done.returncode == 2
    assert f'No Ray cluster answers at {address}' in done.stderr
    assert time.monotonic() - begin < 100


def test_more_than_there_is(tmp_path):
    sweep = write_sweep(tmp_path / 's.py', resources=dict(cpus=1, gpus=64),
                        methods=dict(finetune=leaf('finetune')))
    done = run(sweep)
    assert done.returncode == 2
    assert 'A trial needs 1 CPUs and 64 GPUs' in done.stderr


@pytest.fixture
def two_nodes():
    """A Ray cluster of two nodes, both on this machine, one CPU each."""
    temp = tempfile.mkdtemp(prefix='ray')  # sockets need a short path
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        address = f'127.0.0.1:{probe.getsockname()[1]}'
    start = [sys.executable, '-m', 'ray.scripts.scripts', 'start', '--block',
             '--num-cpus=1', '--disable-usage-stats',
             '--object-store-memory=100000000']
    nodes = [
        subprocess.Popen(
            [*start, *options], stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True)
        for options in (
            ['--head', f'--port={address.rpartition(":")[2]}',
             f'--temp-dir={temp}', '--include-dashboard=false'],
            [f'--address={address}'])
    ]
    yield address, nodes
    for node in nodes:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(node.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            node.wait(20)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(node.pid, signal.SIGKILL)
        node.wait()
    shutil.rmtree(temp, ignore_errors=True)


def test_a_cluster_that_loses_a_node(tmp_path, two_nodes):
    """Trials of the lost node go on at the other one."""
    address, nodes = two_nodes
    sweep = write_sweep(
        tmp_path / 's.py', cfg_options=SLOW,
        methods=dict(finetune=leaf('finetune'), si=leaf('si')))
    folders = [trial(sweep, f'{n}_2_seed0') for n in ('finetune', 'si')]
    with subprocess.Popen(
            [*command(sweep)[:-2], '--address', address], cwd=ROOT, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as driver:
        wait_for(lambda: all(map(training, folders)), 'two trials at once')
        os.killpg(nodes[1].pid, signal.SIGKILL)
        said, _ = driver.communicate(timeout=500)
    assert driver.returncode == 0, said
    assert sorted(map(attempts, folders)) == [1, 2]
    assert all(r['finished'] for r in result(sweep)['runs'])
