"""A Slurm cluster of one node, for the time of a test.

Its daemons run as the user, in a folder of their own, with a munge key of
their own; no service of the machine is touched. Debian: ``apt-get install
slurm-wlm munge``.
"""
import contextlib
import getpass
import os
import secrets
import shutil
import socket
import subprocess
import time
from pathlib import Path

DAEMONS = ('munged', 'slurmctld', 'slurmd')
CONF = '''
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmdPort={node_port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
MpiDefault=none
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
GresTypes=gpu
ReturnToService=2
KillWait=30
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} Gres=gpu:2 State=UNKNOWN
PartitionName=part Nodes=ALL Default=YES MaxTime=INFINITE State=UP
'''


def find(program: str) -> str | None:
    """The path of a daemon; those of the system may not be in PATH."""
    return shutil.which(program) or shutil.which(
        program, path='/usr/sbin:/usr/local/sbin')


def missing() -> list[str]:
    """Programs that a cluster needs and this machine lacks."""
    return [name for name in (*DAEMONS, 'srun', 'scontrol', 'sinfo')
            if find(name) is None]


class SlurmCluster:
    """One node with two CPUs and two GPUs that exist on paper alone."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.env = dict(os.environ, SLURM_CONF=str(folder / 'slurm.conf'))
        self._started = []

    def __enter__(self) -> 'SlurmCluster':
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *args) -> None:
        for process in reversed(self._started):
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(20)
            process.kill()
            process.wait()

    def _start(self) -> None:
        folder = self.folder
        for name in ('state', 'spool'):
            (folder / name).mkdir()
        key = folder / 'munge.key'
        key.write_bytes(secrets.token_bytes(128))
        key.chmod(0o400)
        (folder / 'slurm.conf').write_text(CONF.format(
            host=socket.gethostname().partition('.')[0], folder=folder,
            port=_free_port(), node_port=_free_port(),
            user=getpass.getuser(), cpus=os.cpu_count()))
        (folder / 'gres.conf').write_text(
            'Name=gpu File=/dev/null\nName=gpu File=/dev/zero\n')
        self._run('munged', '--foreground', '--force',
                  f'--key-file={key}', f'--socket={folder}/munge.socket',
                  f'--pid-file={folder}/munged.pid',
                  f'--log-file={folder}/munged.log',
                  f'--seed-file={folder}/munged.seed')
        self._wait(lambda: (folder / 'munge.socket').exists(), 'munged')
        self._run('slurmctld', '-D', '-f', folder / 'slurm.conf')
        self._run('slurmd', '-D', '-f', folder / 'slurm.conf')
        self._wait(self._idle, 'slurmd')

    def _run(self, program: str, *words) -> None:
        with (self.folder / f'{program}.out').open('w') as out:
            self._started.append(subprocess.Popen(
                [find(program), *map(str, words)], env=self.env, stdout=out,
                stderr=out, start_new_session=True))

    def _idle(self) -> bool:
        done = subprocess.run(
            [find('sinfo'), '--noheader', '-o', '%t'], env=self.env,
            capture_output=True, text=True)
        return done.stdout.strip() == 'idle'

    def _wait(self, ready, what: str) -> None:
        for _ in range(60):
            if ready():
                return
            if any(p.poll() is not None for p in self._started):
                break
            time.sleep(1)
        logs = '\n'.join(
            f'{path.name}: {path.read_text(errors="replace")[-2000:]}'
            for path in sorted(self.folder.glob('*.out')) +
            sorted(self.folder.glob('*.log')))
        raise RuntimeError(f'{what} does not come up:\n{logs}')


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        return probe.getsockname()[1]
