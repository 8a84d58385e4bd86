"""A cluster on the loopback address, of processes that are started and ended here."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
ALLOWED = "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES"
"""How many workers may die of a unit before Dask gives it up: none here, as each takes seconds to come back."""


def start(*arguments: str | Path) -> subprocess.Popen:
    """A process of Dask, which finds the chores."""
    path = os.pathsep.join([str(TESTS), str(TESTS.parent)])
    command = [sys.executable, "-m", "distributed.cli.dask_" + str(arguments[0]), *map(str, arguments[1:])]
    return subprocess.Popen(
        command,
        env={**os.environ, "PYTHONPATH": path, ALLOWED: "0"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # so that it can be ended together with its children
    )


class DaskSite:
    """A scheduler and its workers on the loopback address."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "scheduler.json"
        self._folder = folder
        quiet = ("--host", "127.0.0.1", "--port", "0", "--no-dashboard")
        self.scheduler = start("scheduler", *quiet, "--scheduler-file", self.file)
        self.workers: list[subprocess.Popen] = []

    def hire(self, *options: str) -> subprocess.Popen:
        """One more worker."""
        place = ("--host", "127.0.0.1", "--no-dashboard", "--local-directory", self._folder)
        self.workers.append(start("worker", "--scheduler-file", self.file, "--nthreads", "1", *place, *options))
        return self.workers[-1]

    def close(self) -> None:
        """End all that was started, and what that has started."""
        for process in [self.scheduler, *self.workers]:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


@pytest.fixture
def site(tmp_path: Path) -> Iterator[DaskSite]:
    """A scheduler that nobody works for yet."""
    pytest.importorskip("distributed")
    site = DaskSite(tmp_path)
    deadline = time.monotonic() + 20
    while not site.file.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    yield site
    site.close()
