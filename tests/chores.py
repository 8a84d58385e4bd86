"""Work that the tests of executors hand out; workers of a cluster import it by this name."""

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Chore:
    """A number, or several; what is done with them is to be squared."""

    numbers: tuple[int, ...]
    takes_s: float = 0.0

    @property
    def key(self) -> str:
        """Its numbers."""
        return "-".join(map(str, self.numbers))


@dataclass(frozen=True)
class Tools:
    """What a worker makes once: it notes down who did what in a folder."""

    folder: Path
    poison: int | None = None
    wrong: int | None = None


def square(tools: Tools, chore: Chore) -> list[tuple[int, int]]:
    """Each number with its square; the poison kills its worker, the wrong one raises."""
    (tools.folder / f"{chore.key}.{os.getpid()}").touch()
    time.sleep(chore.takes_s)
    if tools.poison in chore.numbers:
        os.kill(os.getpid(), signal.SIGKILL)
    if tools.wrong in chore.numbers:
        raise ValueError("seven ate nine")
    return [(number, number * number) for number in chore.numbers]


def apart(chore: Chore) -> list[Chore]:
    """A chore of each number, where there are several."""
    return [Chore((number,), chore.takes_s) for number in chore.numbers] if len(chore.numbers) > 1 else []
