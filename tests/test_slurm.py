"""Work on a real Slurm: Debian's, with two nodes on this machine, sockets, ports and folders of its own."""

import os
import secrets
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest
from chores import Chore, Tools, square

from incidentlab.configuration import Slurm
from incidentlab.errors import UsageError
from incidentlab.executors import Where, opened, run

pytestmark = [pytest.mark.slurm, pytest.mark.timeout(120)]

TESTS = Path(__file__).parent
CONFIGURATION = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
ReturnToService=2
KillWait=5
SchedulerParameters=sched_interval=1,batch_sched_delay=0,sched_min_interval=0
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[1]} CPUs=2 RealMemory=4000
NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[2]} CPUs=2 RealMemory=4000
PartitionName=main Nodes=n1,n2 Default=YES State=UP
"""
JOBS = Slurm(
    queue="main", cores=1, memory="500MB", walltime="00:10:00", jobs=2, least_jobs=2, interface="lo", wait="1m"
)


def free_ports(number: int) -> list[int]:
    """Ports that nobody has."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(number)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def said(*command: str) -> str:
    """What a command of Slurm says."""
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=20).stdout


def until(holds: Callable[[], object], seconds: float = 30) -> None:
    """Wait for something to become true."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.2)


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with a Slurm at work in it; the environment leads there."""
    folder = tmp_path_factory.mktemp("slurm")
    (folder / "state").mkdir()
    key, conf = folder / "munge.key", folder / "slurm.conf"
    key.write_bytes(secrets.token_bytes(128))
    key.chmod(0o600)
    conf.write_text(CONFIGURATION.format(host=socket.gethostname(), folder=folder, ports=free_ports(3)))
    munge = [
        f"--{name}={folder}/munge.{name.partition('-')[0]}" for name in ("socket", "pid-file", "log-file", "seed-file")
    ]
    daemons = [
        ["munged", "--foreground", "--force", f"--key-file={key}", *munge],
        ["slurmctld", "-D", "-f", str(conf)],
        *(["slurmd", "-D", "-f", str(conf), "-N", node] for node in ("n1", "n2")),
    ]
    started: list[subprocess.Popen] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SLURM_CONF", str(conf))
        patch.setenv("PYTHONPATH", os.pathsep.join([str(TESTS), str(TESTS.parent)]))
        try:
            for daemon in daemons:
                with (folder / f"{daemon[0]}.out").open("ab") as out:
                    started.append(subprocess.Popen(daemon, stdout=out, stderr=out, start_new_session=True))
                until((folder / "munge.socket").exists)
            until(lambda: said("sinfo", "-h", "-o", "%D %t").split() == ["2", "idle"])
            yield folder
            subprocess.run(["scancel", "--user=root"], check=True)
            until(lambda: not said("squeue", "-h"))
        finally:
            end(started, folder)


def end(daemons: list[subprocess.Popen], folder: Path) -> None:
    """End the daemons, and what jobs may have left: processes that carry this Slurm in their environment."""
    for daemon in reversed(daemons):
        daemon.terminate()
    for daemon in daemons:
        try:
            daemon.wait(10)
        except subprocess.TimeoutExpired:
            daemon.kill()
            daemon.wait()
    for pid in left(folder):
        os.kill(pid, signal.SIGKILL)


def left(folder: Path) -> list[int]:
    """The processes, other than this one, that were started by a job of this Slurm."""
    mark = f"SLURM_CONF={folder}/slurm.conf".encode()
    found = []
    for place in Path("/proc").glob("[0-9]*/environ"):
        try:
            environment = place.read_bytes().split(b"\0")
        except OSError:
            continue
        if mark in environment and any(one.startswith(b"SLURM_JOB_ID=") for one in environment):
            found.append(int(place.parent.name))
    return found


def test_jobs_do_the_work(slurm: Path, tmp_path: Path) -> None:
    """Workers are jobs; every unit comes back once, and no job and no process is left."""
    chores = [Chore((number,)) for number in range(24)]
    with opened(Where(cluster="slurm", slurm=JOBS), partial(Tools, tmp_path)) as workers:
        done = list(run(workers, square, chores))

    assert sorted(pair for one in done for pair in one.result) == [(number, number * number) for number in range(24)]
    until(lambda: not said("squeue", "-h"))
    until(lambda: not left(slurm))


@pytest.mark.usefixtures("slurm")
def test_a_cancelled_job_costs_nothing(tmp_path: Path) -> None:
    """One of two jobs is cancelled in the middle; all is done."""
    chores = [Chore((number,), 0.2) for number in range(40)]
    with opened(Where(cluster="slurm", slurm=JOBS), partial(Tools, tmp_path)) as workers:
        coming = run(workers, square, chores)
        done = [next(coming) for _ in range(4)]
        until(lambda: len(said("squeue", "-h", "-t", "R", "-o", "%i").split()) == 2)
        subprocess.run(["scancel", said("squeue", "-h", "-o", "%i").split()[0]], check=True)
        done += coming

    assert [one.error for one in done if one.error] == []
    assert sorted(pair for one in done for pair in one.result) == [(number, number * number) for number in range(40)]


@pytest.mark.usefixtures("slurm")
def test_a_queue_that_is_not_there_is_said(tmp_path: Path) -> None:
    """A wrong option of sbatch is a wrong setting, told with the words of sbatch."""
    wrong = Where(cluster="slurm", slurm=Slurm(queue="nowhere", memory="500MB", interface="lo", wait="20s"))

    with pytest.raises(UsageError, match="invalid partition"), opened(wrong, partial(Tools, tmp_path)):
        pass
