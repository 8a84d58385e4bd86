"""Runs one command and writes down what it cost: `python -S launch.py RESULT.json COMMAND...`.

A program of its own, without imports beyond the standard library, because Linux charges a process for the memory of
the one that started it: what is measured here cannot seem smaller than this script, which is about 10 MB.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from threading import Event, Thread

SAMPLE_EVERY_S = 0.05
"""How often the memory of all processes of a command is added up; shorter peaks may be missed."""

_KIB = 1024


def main() -> None:
    """Run the command with our own streams, and end as it ended."""
    result, *command = sys.argv[1:]
    cost = measured(command)
    Path(result).write_text(json.dumps(cost), encoding="utf-8")
    sys.exit(int(cost["exit_code"]))


def measured(command: list[str]) -> dict[str, float]:
    """CPU and wall seconds, bytes of the largest process and of all at one time, bytes read, and the exit code.

    CPU and reads include all descendants that were waited for.
    """
    started = time.perf_counter()
    process = subprocess.Popen(command)
    watch = _Watch(process.pid)
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    wall = time.perf_counter() - started
    read = _read_bytes(process.pid)
    watch.stop()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return {
        "cpu_s": usage.ru_utime + usage.ru_stime,
        "wall_s": wall,
        "largest_bytes": usage.ru_maxrss * _KIB,
        "together_bytes": max(watch.peak, usage.ru_maxrss * _KIB),
        "read_bytes": read,
        "exit_code": process.returncode,
    }


def _read_bytes(pid: int) -> int:
    """What an ended process, not yet waited for, and its children asked `read` for; mapped files do not count."""
    fields = dict(line.split(": ") for line in Path(f"/proc/{pid}/io").read_text(encoding="utf-8").splitlines())
    return int(fields["rchar"])


class _Watch:
    """Adds up the resident memory of a process and its descendants until it is stopped; shared pages count for each."""

    def __init__(self, pid: int) -> None:
        self.peak = 0
        self._pid = pid
        self._ended = Event()
        self._thread = Thread(target=self._sample)
        self._thread.start()

    def stop(self) -> None:
        """End the watch."""
        self._ended.set()
        self._thread.join()

    def _sample(self) -> None:
        while not self._ended.wait(SAMPLE_EVERY_S):
            self.peak = max(self.peak, _resident_bytes(self._pid))


def _resident_bytes(pid: int) -> int:
    """Resident memory of `pid` and everything below it; a process that ends meanwhile has none."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="utf-8").split()[1])
        tasks = [task / "children" for task in Path(f"/proc/{pid}/task").iterdir()]
        children = [child for task in tasks for child in task.read_text(encoding="utf-8").split()]
    except (OSError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE") + sum(_resident_bytes(int(child)) for child in children)


if __name__ == "__main__":
    main()
