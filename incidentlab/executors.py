"""Where units of work run: in this process, or in others on this machine."""

import os
import signal
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from threading import Thread
from typing import Any, TypeVar

_Unit = TypeVar("_Unit")


def run(task: Callable[..., Any], units: Iterable[_Unit], *more: Any, jobs: int) -> Iterator[_Unit]:
    """Have `task(unit, *more)` done for every unit, in this process if `jobs` is 1; each unit comes back when done."""
    if jobs == 1:
        for unit in units:
            task(unit, *more)
            yield unit
        return
    context = get_context("spawn")  # not forked: polars runs threads, and a fork with threads may hang
    ours, theirs = context.Pipe()
    with ours, ProcessPoolExecutor(jobs, context, _start, (theirs,)) as pool:
        try:
            yield from _done(pool, task, units, more)
        except BaseException:
            ours.close()
            pool.shutdown(cancel_futures=True)
            raise


def _done(pool: Executor, task: Callable[..., Any], units: Iterable[_Unit], more: tuple[Any, ...]) -> Iterator[_Unit]:
    with _held_interrupts():
        futures = {pool.submit(task, unit, *more): unit for unit in units}
    for future in as_completed(futures):
        future.result()
        yield futures[future]


@contextmanager
def _held_interrupts() -> Iterator[None]:
    """Processes started here never hear Ctrl-C, which a terminal sends to all; this one hears it at the end.

    The others end with this one, so that it alone speaks.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _start(first: Connection) -> None:
    """Let a worker process end with the `first` process, however that one ends."""
    Thread(target=_end_with, args=(first,), daemon=True).start()


def _end_with(first: Connection) -> None:
    wait([first])
    os._exit(1)
