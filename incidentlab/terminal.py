"""What a command says to a person on stderr, and how it writes data to stdout."""

import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from incidentlab.neutral import neutral

_PLAIN_LINE_EVERY_S = 10.0


def emit(data: str | bytes) -> None:
    """Write data to stdout; a reader that has gone away (`| head`) had what it wanted."""
    try:
        if isinstance(data, bytes):
            sys.stdout.buffer.write(data)
        else:
            sys.stdout.write(data)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def width() -> int:
    """Cells of a line that is comfortable to read on this terminal: 40 to 100, and 80 where there is none."""
    return min(max(shutil.get_terminal_size().columns, 40), 100)


def open_missing_streams() -> None:
    """Stand-ins for standard streams that were closed (`>&-`), so that no other file gets their numbers."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            mode = "r" if name == "stdin" else "w"
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115 - open till the end


@dataclass(slots=True)
class Talk:
    """The side of a command that speaks to a person, on stderr: -1 says errors only, 0 the usual, 1 and 2 more."""

    verbosity: int = 0
    shows_progress: bool = True

    def say(self, text: str, level: int = 0) -> None:
        """Say it if the person wants to hear things of this level."""
        if self.verbosity >= level:
            with suppress(OSError):  # nobody listens any more (`2>&1 | head`); the work goes on
                sys.stderr.write(neutral(text, keep="\n") + "\n")

    def error(self, text: str) -> None:
        """Say what went wrong; this is never silenced."""
        self.say(f"incidentlab: {text}", level=-1)

    @contextmanager
    def progress(self, verb: str, total: int) -> Iterator[Callable[[int], None]]:
        """A function to be told how many of `total` bytes were done since it was last called.

        On a terminal it draws a bar with rate and time left, elsewhere it writes one plain line every ten seconds.
        """
        if not self.shows_progress:
            yield lambda _: None
        elif sys.stderr.isatty():
            with _bar(verb, total) as advance:
                yield advance
        else:
            yield _plain_lines(self, verb, total)


@contextmanager
def _bar(verb: str, total: int) -> Iterator[Callable[[int], None]]:
    from rich.console import Console  # noqa: PLC0415 - rich is slow to import, and `--help` needs none of it
    from rich.progress import (  # noqa: PLC0415
        BarColumn,
        DownloadColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    look = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*look, TimeRemainingColumn(), console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(verb, total=total)
        yield lambda count: bar.advance(task, count)


def _plain_lines(talk: Talk, verb: str, total: int) -> Callable[[int], None]:
    start = last = time.monotonic()
    done = 0

    def advance(count: int) -> None:
        nonlocal done, last
        done += count
        now = time.monotonic()
        if now - last >= _PLAIN_LINE_EVERY_S:
            last = now
            rate = done / (now - start)
            left = max(total - done, 0) / rate if rate else 0
            talk.say(f"{verb:<9} {size(done)} of {size(total)}, {size(rate)}/s, {left:.0f} s left")

    return advance


def size(count: float) -> str:
    """Bytes for people, in powers of 1,000: `41.2 GB`."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:  # noqa: PLR2004 - the step between two units
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:,.1f} TB"


def counted(count: int, noun: str) -> str:
    """`1 file`, `1,284 files`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
