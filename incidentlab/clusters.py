"""Workers on many machines: a Dask cluster that is there, one of this machine, or jobs of Slurm (extra `[dask]`).

Only units and their small results pass the scheduler. A worker that dies is Dask's business first: it gives the unit
to others, and says so only when several have died of it.
"""

import logging
import pickle
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

import distributed
from distributed.scheduler import KilledWorker

from incidentlab import __version__
from incidentlab.configuration import Slurm, duration_s
from incidentlab.errors import OutageError, UsageError
from incidentlab.workers import Workers, carry_out, held_interrupts

_CONNECT_S = 20
"""How long a scheduler, and the first worker of a cluster that is there, may take to answer."""

_SBATCH_S = 60
"""How long a busy Slurm may take to look at a job."""

_GONE_S = 60
"""For how long a cluster may be without any worker; those that died may be about to come back."""

_WINDOW = 1_000
"""How many units the scheduler knows at a time: each takes it some milliseconds, so more would not be done sooner."""


def connect(cluster: str, jobs: int, slurm: Slurm, make: Callable[[], Any]) -> Workers:
    """The workers of a cluster: a scheduler's address (tcp://, tls://) or file, `local` or `slurm`.

    `jobs` is how many workers a `local` one has. Raises `UsageError` if there is nobody.
    """
    for name in ("distributed", "distributed.client", "tornado.application"):
        logging.getLogger(name).setLevel(logging.CRITICAL)  # what matters is an error of ours
    own, patience_s = None, float(_CONNECT_S)
    with held_interrupts():  # threads and processes that are started here do not hear Ctrl-C
        if cluster == "local":
            own = _local(jobs)
        elif cluster == "slurm":
            own, patience_s = _slurm(slurm), duration_s(slurm.wait) or patience_s
        client = _client({"address": own} if own else _there(cluster))
    return Cluster(client, own, make, patience_s)


def _there(cluster: str) -> dict[str, str]:
    """How a client is told where the scheduler is."""
    if "://" in cluster:
        return {"address": cluster}
    if not Path(cluster).is_file():
        raise UsageError("is no scheduler: name tcp://HOST:PORT, a scheduler file, local or slurm", cluster)
    return {"scheduler_file": cluster}


def _local(jobs: int) -> Any:
    return distributed.LocalCluster(  # type: ignore[no-untyped-call]
        n_workers=jobs,
        threads_per_worker=1,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
        silence_logs=logging.CRITICAL,
    )


def _slurm(slurm: Slurm) -> Any:
    import dask_jobqueue  # noqa: PLC0415 - not needed for the other kinds

    cluster = dask_jobqueue.SLURMCluster(  # type: ignore[attr-defined]
        queue=slurm.queue,
        account=slurm.account,
        cores=slurm.cores,
        processes=slurm.cores,
        memory=slurm.memory,
        walltime=slurm.walltime,
        job_extra_directives=["--output=/dev/null", *slurm.directives],  # else each leaves a file here
        job_script_prologue=list(slurm.prologue),
        interface=slurm.interface,
        python=slurm.python or sys.executable,
        local_directory=slurm.scratch,
        job_name="incidentlab",
        scheduler_options={"dashboard_address": None, "dashboard": False},
    )
    try:
        _try_out(cluster.job_script())  # type: ignore[no-untyped-call]
    except BaseException:
        cluster.close()
        raise
    cluster.adapt(minimum_jobs=slurm.least_jobs, maximum_jobs=slurm.jobs)
    return cluster


def _try_out(script: str) -> None:
    """Raise `UsageError` if Slurm would refuse the job for ever; dask-jobqueue only goes on trying."""
    try:
        tried = subprocess.run(
            ["sbatch", "--test-only"],  # noqa: S607 - wherever the site has it
            input=script,
            capture_output=True,
            text=True,
            check=False,
            timeout=_SBATCH_S,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UsageError(f"sbatch does not answer: {error}", "--cluster slurm") from error
    if tried.returncode:
        fault = tried.stderr.strip().splitlines() or [f"exit code {tried.returncode}"]
        raise UsageError(f"refused: {fault[0]}", "--cluster slurm")


class Cluster:
    """The workers of a Dask cluster; `own` is the cluster if it was started here and has to be ended."""

    window = _WINDOW

    def __init__(self, client: Any, own: Any, make: Callable[[], Any], patience_s: float) -> None:
        self._client = client
        self._own = own
        self._packed = pickle.dumps(make)
        self._run = sha256(self._packed).hexdigest()[:16]
        self._seen = time.monotonic()
        self._futures: set[Any] = set()
        try:
            self._await_worker(patience_s)
        except BaseException:
            self._end()
            raise
        # A task of its own, and no plain data, so that it is made again where all who held it are gone.
        self._maker = self._client.submit(bytes, self._packed, key=f"incidentlab-maker-{self._run}")

    def _await_worker(self, patience_s: float) -> None:
        """Wait for the first worker, and ask all that are there whether they know this program."""
        try:
            self._client.wait_for_workers(1, timeout=patience_s)
        except TimeoutError as error:
            raise UsageError(f"no worker within {patience_s:.0f} s", self._where) from error
        try:
            versions = set(self._client.run(known_version).values())
        except Exception as error:
            raise UsageError(f"its workers cannot import incidentlab: {error}", self._where) from error
        if versions - {__version__}:
            raise UsageError(f"its workers have incidentlab {', '.join(sorted(versions))}", self._where)

    @property
    def _where(self) -> str:
        return str(self._client.scheduler.address) if self._client.scheduler else "the cluster"

    def submit(self, task: Callable[[Any, Any], Any], unit: Any, attempt: int) -> Future[Any]:
        """Hand it to the scheduler; equal work of two runs at a time is done once."""
        key = f"incidentlab-{task.__name__}-{self._run}-{unit.key}-{attempt}"
        asked = self._client.submit(carry_out, task, self._run, self._maker, unit, key=key)
        self._futures.add(asked)
        answer: Future[Any] = Future()
        asked.add_done_callback(lambda done: self._settle(done, answer))
        return answer

    def _settle(self, asked: Any, answer: Future[Any]) -> None:
        """Pass on what became of a unit, and let the cluster forget it."""
        try:
            answer.set_result(asked.result())
            self._seen = time.monotonic()
        except Exception as error:  # noqa: BLE001 - it is the unit's
            answer.set_exception(error)
        self._futures.discard(asked)
        asked.release()

    def is_lost(self, error: BaseException) -> bool:
        """Dask says so when several workers have died of it; it gives a unit up when the scheduler is gone."""
        if isinstance(error, CancelledError):
            raise OutageError("the scheduler is gone; what was done stays done", self._where) from error
        return isinstance(error, KilledWorker)

    def check(self) -> None:
        """Raise `OutageError` if the scheduler is gone, or no worker was there for a minute."""
        now = time.monotonic()
        with suppress(OSError, TimeoutError):
            if self._client.nthreads():
                self._seen = now
        if now - self._seen > _GONE_S and not self._own:
            raise OutageError("there are no workers any more; what was done stays done", self._where)

    def close(self, *, cancel: bool) -> None:
        """Leave the cluster, and end it if it was started here."""
        if cancel and self._client.status == "running":
            with suppress(OSError, TimeoutError, CancelledError):
                self._client.cancel(list(self._futures))
        self._end()

    def _end(self) -> None:
        # All is done or given up by now, and Dask stumbles over workers that are just coming back.
        with suppress(Exception):
            self._client.close(timeout=5)
        with suppress(Exception):
            if self._own:
                self._own.close(timeout=10)


def _client(where: Any) -> Any:
    try:
        return distributed.Client(  # type: ignore[no-untyped-call]
            **where, timeout=_CONNECT_S, set_as_default=False
        )
    except (OSError, TimeoutError, ValueError) as error:
        name = where.get("address") or where.get("scheduler_file")
        raise UsageError(f"no scheduler answers: {error}", str(name)) from error


def known_version() -> str:
    """In a worker: the version of this program there."""
    return __version__
