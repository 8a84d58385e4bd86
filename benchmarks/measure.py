"""Commands side by side: each runs in an empty folder of its own, in turn with the others, and medians are kept."""

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
LAUNCHER = Path(__file__).with_name("launch.py")

_RESULT = "cost.json"
_OUTPUT = "stdout"
_ERRORS = "stderr"


class BenchmarkError(Exception):
    """A command did not do what it was to do."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What a command took: CPU and wall in seconds, memory in bytes, and bytes that it read without mapping them.

    `largest_bytes` is the peak of its largest process, `together_bytes` that of all its processes at one time.
    """

    cpu_s: float
    wall_s: float
    largest_bytes: float
    together_bytes: float
    read_bytes: float


@dataclass(frozen=True, slots=True)
class Contender:
    """A command, the file or folder that it reads, and how to see what it found: from its own folder and its stdout."""

    name: str
    command: tuple[str, ...]
    path: Path | None = None
    look: Callable[[Path, str], Mapping[str, int]] = lambda _folder, _stdout: {}

    @property
    def input(self) -> str:
        """The name of what it reads."""
        return self.path.name if self.path else "nothing"

    @property
    def size(self) -> int:
        """Bytes to read."""
        return size_of(self.path) if self.path else 0

    @property
    def is_installed(self) -> bool:
        """Whether its program can be started here."""
        return shutil.which(self.command[0]) is not None


@dataclass(slots=True)
class Outcome:
    """The costs of all runs of one contender, and what the last of them found."""

    costs: list[Cost] = field(default_factory=list)
    found: Mapping[str, int] = field(default_factory=dict)

    @property
    def median(self) -> Cost:
        """The median of each number on its own."""
        return Cost(*(statistics.median(getattr(cost, name) for cost in self.costs) for name in Cost.__slots__))

    @property
    def spread(self) -> float:
        """How far the CPU seconds of the runs lie apart, as a share of their median."""
        cpu = [cost.cpu_s for cost in self.costs]
        return (max(cpu) - min(cpu)) / statistics.median(cpu)


def race(contenders: Sequence[Contender], runs: int) -> dict[str, Outcome]:
    """Every contender that is installed, one run of each and then the next round."""
    for path in {contender.path for contender in contenders if contender.path}:
        _warm(path)
    outcomes = {contender.name: Outcome() for contender in contenders if contender.is_installed}
    for _ in range(runs):
        for contender in contenders:
            if contender.is_installed:
                cost, found = _once(contender)
                outcomes[contender.name].costs.append(cost)
                outcomes[contender.name].found = found
    return outcomes


def _once(contender: Contender) -> tuple[Cost, Mapping[str, int]]:
    with tempfile.TemporaryDirectory(prefix="benchmark-") as folder:
        cost = run(contender.command, Path(folder))
        return cost, contender.look(Path(folder), output(Path(folder)))


def run(command: Sequence[str], folder: Path) -> Cost:
    """Run a command in `folder`, where its output stays; raises `BenchmarkError` if it fails."""
    launched = [sys.executable, "-S", str(LAUNCHER), _RESULT, *command]
    with (folder / _OUTPUT).open("wb") as output, (folder / _ERRORS).open("wb") as errors:
        done = subprocess.run(
            launched,
            cwd=folder,
            env=environment(folder),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
            check=False,
        )
    if done.returncode:
        said = (folder / _ERRORS).read_text(encoding="utf-8", errors="replace")[-1000:]
        raise BenchmarkError(f"{' '.join(command)[:300]}: ended with {done.returncode}: {said}")
    measured = json.loads((folder / _RESULT).read_text(encoding="utf-8"))
    return Cost(*(measured[name] for name in Cost.__slots__))


def output(folder: Path) -> str:
    """What the last command that ran in `folder` printed."""
    return (folder / _OUTPUT).read_text(encoding="utf-8")


def environment(home: Path) -> dict[str, str]:
    """The checkout's modules, plain bytes for the programs that ask, and none of the user's settings."""
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("INCIDENTLAB_", "RIPGREP_", "LC_"))
    }
    return {**kept, "PYTHONPATH": str(ROOT), "HOME": str(home), "LC_ALL": "C", "TERM": "dumb"}


def ask(*arguments: str, folder: Path) -> str:
    """What incidentlab prints, unmeasured; raises `BenchmarkError` if it fails."""
    run((sys.executable, "-m", "incidentlab", *arguments), folder)
    return output(folder)


def size_of(path: Path) -> int:
    """Bytes of a file, or of all files of a folder."""
    return sum(file.stat().st_size for file in path.iterdir()) if path.is_dir() else path.stat().st_size


def _warm(path: Path) -> None:
    """Read a file, or all files of a folder, so that no contender waits for the disk."""
    for file in path.rglob("*") if path.is_dir() else [path]:
        with file.open("rb", buffering=0) as opened:
            while opened.read(1 << 20):
                pass
