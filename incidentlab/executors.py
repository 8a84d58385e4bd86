"""Where work runs: in this process, in processes of this machine, or on a cluster; always `concurrent.futures`.

A unit is a piece of work with a key. What all units need is made once in each worker, and each unit is handed to a
task together with it. One error costs its own unit alone. A worker that dies costs nothing: what it worked on is
split if it can be, and else tried once more when nothing else runs; only what kills its worker then, too, has failed.
"""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from incidentlab.configuration import Slurm
from incidentlab.errors import UsageError
from incidentlab.workers import Here, Processes, Workers


class Unit(Protocol):
    """A piece of work; the key says what it is, on every machine and in every run."""

    @property
    def key(self) -> str:
        """Equal for equal work alone."""


U = TypeVar("U", bound=Unit)
R = TypeVar("R")

_PATIENCE_S = 5.0
"""How often an executor is asked whether it still has workers, while nothing comes back from it."""


class WorkerLost(Exception):  # noqa: N818 - it is what happened
    """The unit's worker died twice, the second time with nothing beside it."""

    def __init__(self) -> None:
        super().__init__("the process that read it died twice, at last with nothing beside it; perhaps out of memory")


@dataclass(frozen=True)
class Where:
    """`jobs` processes, 0 for one a core; or the cluster of a scheduler's address or file, `local` or `slurm`."""

    jobs: int = 0
    cluster: str | None = None
    slurm: Slurm = field(default_factory=Slurm)

    @property
    def width(self) -> int:
        """How many processes that is."""
        return self.jobs or os.cpu_count() or 1


class Done(NamedTuple, Generic[U, R]):
    """A unit with its result, or with the error that was its end."""

    unit: U
    result: R | None
    error: Exception | None


@contextmanager
def opened(where: Where, make: Callable[[], Any]) -> Iterator[Workers]:
    """The workers at `where`; `make`, which must be picklable, is called in each of them before its first unit.

    Raises `UsageError` for a cluster that cannot be reached or a missing extra. What is under way when the block is
    left by an exception, such as Ctrl-C, is cancelled.
    """
    workers = _workers(where, make)
    try:
        yield workers
    except BaseException:
        workers.close(cancel=True)
        raise
    workers.close(cancel=False)


def _workers(where: Where, make: Callable[[], Any]) -> Workers:
    if where.cluster is None:
        return Processes(where.width, make) if where.width > 1 else Here(make)
    try:
        from incidentlab import clusters  # noqa: PLC0415 - an extra, and slow to import
    except ImportError as error:
        raise UsageError("--cluster needs the extra: pip install 'incidentlab[dask]'") from error
    return clusters.connect(where.cluster, where.width, where.slurm, make)


def run(
    workers: Workers,
    task: Callable[[Any, U], R],
    units: Iterable[U],
    split: Callable[[U], Iterable[U]] | None = None,
) -> Iterator[Done[U, R]]:
    """Carry out `task(made, unit)` for all units; each comes back once, as it is done, in any order.

    `task` must be found by name in a module. `units` is read only as far as there is room. `split` gives the smaller
    units that a unit consists of, or nothing; these come back in its place if its worker dies.
    """
    return _Run(workers, task, units, split).results()


class _Run(Generic[U, R]):
    """Units on their way through workers."""

    def __init__(
        self,
        workers: Workers,
        task: Callable[[Any, U], R],
        units: Iterable[U],
        split: Callable[[U], Iterable[U]] | None,
    ) -> None:
        self._workers = workers
        self._task = task
        self._fresh = iter(units)
        self._parts: deque[U] = deque()
        self._suspects: deque[U] = deque()
        self._split = split or (lambda _: ())
        self._out: dict[Future[R], tuple[U, int]] = {}
        self._back: SimpleQueue[Future[R]] = SimpleQueue()

    def results(self) -> Iterator[Done[U, R]]:
        """All units, the suspects last."""
        self._fill()
        while self._out:
            future = self._next()
            unit, attempt = self._out.pop(future)
            done = self._judged(future, unit, attempt)
            self._fill()  # before the result is handed out: workers need not wait for who takes it
            if done:
                yield done

    def _fill(self) -> None:
        while len(self._out) < self._workers.window:
            unit = self._parts.popleft() if self._parts else next(self._fresh, None)
            if unit is None:
                break
            self._give(unit, 1)
        if not self._out and self._suspects:
            self._give(self._suspects.popleft(), 2)

    def _give(self, unit: U, attempt: int) -> None:
        future = self._workers.submit(self._task, unit, attempt)
        self._out[future] = (unit, attempt)
        future.add_done_callback(self._back.put)

    def _next(self) -> Future[R]:
        while True:
            try:
                return self._back.get(timeout=_PATIENCE_S)
            except Empty:
                self._workers.check()

    def _judged(self, future: Future[R], unit: U, attempt: int) -> Done[U, R] | None:
        """What became of a unit; None if it, or what it was split into, is tried again."""
        error = future.exception()
        if error is None:
            return Done(unit, future.result(), None)
        if not isinstance(error, Exception):
            raise error
        return self._lost(unit, attempt) if self._workers.is_lost(error) else Done(unit, None, error)

    def _lost(self, unit: U, attempt: int) -> Done[U, R] | None:
        parts = tuple(self._split(unit))
        self._parts.extend(parts)
        if parts:
            return None
        if attempt == 1:
            self._suspects.append(unit)
            return None
        return Done(unit, None, WorkerLost())
