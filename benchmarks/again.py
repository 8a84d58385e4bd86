"""What it costs to come again: over unchanged files, over one that has grown, and for a word of help."""

import shutil
import sys
import tempfile
from pathlib import Path

from benchmarks import contenders
from benchmarks.bench import Bench
from benchmarks.measure import BenchmarkError, Contender, Cost, Outcome, race, run, size_of
from benchmarks.page import Section, Table, megabytes, seconds

GROWTH_BYTES = 1_000_000
HELP_RUNS = 11


def again(bench: Bench) -> Section:
    """A second run over many small files, and one over a large file that has grown."""
    section = Section("Coming again", _AGAIN)
    with tempfile.TemporaryDirectory(prefix="benchmark-") as folder:
        costs = {**_unchanged(bench, Path(folder) / "many", section), **_grown(bench, Path(folder) / "one", section)}
    rows = [
        (name, seconds(cost.wall_s), seconds(cost.cpu_s), f"{cost.read_bytes / 1e6:,.1f}")
        for name, cost in costs.items()
    ]
    section.tables.append(Table(("run", "wall s", "CPU s", "MB read"), rows))
    return section


_AGAIN = """\
`ingest` into the warehouse that is there, by one worker. What is read counts every byte that was asked for, those of
the program's own modules, of its shards and of the warehouse included; so what a grown file costs is what is read
beyond a run into the same warehouse that reads one line. The lines that the warehouse holds are compared each time."""


def _unchanged(bench: Bench, home: Path, section: Section) -> dict[str, Cost]:
    """Many small files for the first time, and again."""
    logs = shutil.copytree(bench.data.small(), home / "logs")
    number = len(list(logs.iterdir()))
    first, lines = _ingest(home, logs)
    repeated = [_ingest(home, logs) for _ in range(bench.runs)]
    _compare({lines}, {count for _, count in repeated})
    cost = Outcome([cost for cost, _ in repeated]).median
    section.at_most(f"second run over {number:,} unchanged files", cost.wall_s, 3.0, " s")
    return {f"{number:,} files for the first time": first, "the same files again": cost}


def _grown(bench: Bench, home: Path, section: Section) -> dict[str, Cost]:
    """A large file for the first time, one line beside it, and the file with 1 MB more."""
    home.mkdir()
    large, line = home / "large.log", home / "line.log"
    shutil.copyfile(bench.data.beginning(bench.data.size // 10), large)
    line.write_bytes(large.read_bytes().partition(b"\n")[0] + b", once more\n")
    size = f"one file of {megabytes(size_of(large))} MB"
    first, lines = _ingest(home, large)
    idle, _ = _ingest(home, line)
    added = _grow(large)
    then, lines_then = _ingest(home, large)
    _compare({lines + 1 + added}, {lines_then})
    section.at_most("read for 1 MB of growth", (then.read_bytes - idle.read_bytes) / 1e6, 2.0, " MB")
    return {f"{size} for the first time": first, "one line beside it": idle, f"{size}, grown by 1 MB": then}


def _ingest(home: Path, logs: Path) -> tuple[Cost, int]:
    """The cost of adding the logs to the warehouse that is there, and the number of lines that it then holds."""
    contender = contenders.incidentlab(logs)
    return run(contender.command, home), contender.look(home, "")["lines"]


def _compare(expected: set[int], found: set[int]) -> None:
    if expected != found:
        raise BenchmarkError(f"a warehouse of {expected} lines holds {found} after another run")


def _grow(file: Path) -> int:
    """Whole lines at the end of the file, copied from its beginning; how many they are."""
    data = file.read_bytes()[:GROWTH_BYTES]
    added = data[: data.rfind(b"\n") + 1]
    with file.open("ab") as opened:
        opened.write(added)
    return added.count(b"\n")


def start(_bench: Bench) -> Section:
    """The time until `--help` has spoken."""
    command = (sys.executable, "-m", "incidentlab", "--help")
    cost = race([Contender("help", command)], HELP_RUNS)["help"].median
    table = Table(("command", "wall s", "CPU s"), [("incidentlab --help", seconds(cost.wall_s), seconds(cost.cpu_s))])
    section = Section("Start", "Until `--help` has spoken.", [table])
    section.at_most("incidentlab --help", cost.wall_s, 0.2, " s")
    return section
