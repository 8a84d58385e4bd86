"""Those who work: this process, and processes of this machine; what a cluster's workers do is `carry_out`, too.

What all units need is made once in each worker, from a maker that can be pickled, and kept.
"""

import os
import pickle
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import partial
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from typing import Any, Protocol


class Workers(Protocol):
    """An executor that can lose workers and go on."""

    window: int
    """How many units it is given at a time."""

    def submit(self, task: Callable[[Any, Any], Any], unit: Any, attempt: int) -> Future[Any]:
        """Have `task(made, unit)` carried out."""

    def is_lost(self, error: BaseException) -> bool:
        """Whether this error of a future says that its worker died."""

    def check(self) -> None:
        """Raise `OutageError` if nobody is left who could work."""

    def close(self, *, cancel: bool) -> None:
        """End what was started; with `cancel`, do not wait for work that is under way."""


class Here:
    """Work in this process, one unit after the other."""

    window = 1

    def __init__(self, make: Callable[[], Any]) -> None:
        self._made = make()

    def submit(self, task: Callable[[Any, Any], Any], unit: Any, attempt: int) -> Future[Any]:  # noqa: ARG002
        """Do it at once."""
        future: Future[Any] = Future()
        try:
            future.set_result(task(self._made, unit))
        except Exception as error:  # noqa: BLE001 - it is the unit's
            future.set_exception(error)
        return future

    def is_lost(self, error: BaseException) -> bool:  # noqa: ARG002 - who could tell, would not be here
        """Never."""
        return False

    def check(self) -> None:
        """Nobody can be missing."""

    def close(self, *, cancel: bool) -> None:
        """Nothing was started."""


class Processes:
    """Processes of this machine, each a pool of its own: when one dies, it is known what it worked on."""

    def __init__(self, width: int, make: Callable[[], Any]) -> None:
        self.window = width
        self._context = get_context("spawn")  # not forked: polars runs threads, and a fork with threads may hang
        self._packed = pickle.dumps(make)
        self._ours, self._theirs = self._context.Pipe()
        self._idle: list[ProcessPoolExecutor] = []
        self._pools: set[ProcessPoolExecutor] = set()

    def submit(self, task: Callable[[Any, Any], Any], unit: Any, attempt: int) -> Future[Any]:
        """Give it to an idle process, or to a new one."""
        pool = self._idle.pop() if self._idle else self._new()
        try:
            with held_interrupts():
                future = pool.submit(_carry_out_here, task, unit)
        except BrokenProcessPool:  # it died while it had nothing to do
            self._pools.discard(pool)
            return self.submit(task, unit, attempt)
        future.add_done_callback(partial(self._settle, pool))
        return future

    def _new(self) -> ProcessPoolExecutor:
        pool = ProcessPoolExecutor(1, self._context, _start, (self._theirs, self._packed))
        self._pools.add(pool)
        return pool

    def _settle(self, pool: ProcessPoolExecutor, done: Future[Any]) -> None:
        if done.cancelled() or isinstance(done.exception(), BrokenProcessPool):
            self._pools.discard(pool)
        else:
            self._idle.append(pool)

    def is_lost(self, error: BaseException) -> bool:
        """A pool is broken when its process has died."""
        return isinstance(error, BrokenProcessPool)

    def check(self) -> None:
        """A process can always be started."""

    def close(self, *, cancel: bool) -> None:
        """End all processes; with `cancel` at once, whatever they do."""
        if cancel:
            self._ours.close()
        for pool in tuple(self._pools):
            pool.shutdown(cancel_futures=True)
        self._ours.close()
        self._theirs.close()


@contextmanager
def held_interrupts() -> Iterator[None]:
    """Who is started here never hears Ctrl-C, which a terminal sends to all; this thread hears it at the end.

    The others end with this process, so that it alone speaks.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


_packed: list[bytes] = []
"""The pickled maker of this process, if it is one of `Processes`."""


def _start(first: Connection, packed: bytes) -> None:
    """Prepare a new process; it ends with the `first` one, however that ends."""
    threading.Thread(target=_end_when_closed, args=(first,), daemon=True).start()
    _packed[:] = [packed]


def _end_when_closed(first: Connection) -> None:
    wait([first])
    os._exit(1)


_mine = threading.local()
"""What this thread made, by the name of its maker: engines are not shared between threads."""

_MOST_MADE = 4
"""How many are kept in each thread of a worker that serves several runs at once."""


def carry_out(task: Callable[[Any, Any], Any], name: str, packed: bytes, unit: Any) -> Any:
    """In a worker: the task, with what the pickled maker of that name makes; that is made once and kept."""
    made: dict[str, Any] = _mine.__dict__.setdefault("made", {})
    if name not in made:
        while len(made) >= _MOST_MADE:
            del made[next(iter(made))]
        made[name] = pickle.loads(packed)()  # noqa: S301 - our own process wrote it
    return task(made[name], unit)


def _carry_out_here(task: Callable[[Any, Any], Any], unit: Any) -> Any:
    return carry_out(task, "", _packed[0], unit)
