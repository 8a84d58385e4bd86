"""Who does the same work: incidentlab, and programs that find or load the same lines."""

import csv
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from zlib import crc32

from benchmarks.measure import Contender, ask
from benchmarks.patterns import extended, unnamed
from incidentlab.signatures import load_signatures

REFERENCE = Path(__file__).with_name("reference.py")
WAREHOUSE = "benchmark.duckdb"

_FIGURES = (
    "select sum(matched_lines) as hits, sum(lines) as lines, (select count(*) from events) as events from sources"
)


def write_patterns(folder: Path) -> tuple[Path, Path]:
    """All signatures' patterns, one a line: without group names, and as extended regular expressions of POSIX."""
    patterns = [signature.pattern for signature in load_signatures()]
    files = (folder / "patterns.txt", folder / "extended.txt")
    for file, spelt in zip(files, (unnamed, extended), strict=True):
        file.write_text("".join(f"{spelt(pattern)}\n" for pattern in patterns), encoding="utf-8")
    return files


def incidentlab(path: Path, jobs: int = 1, name: str = "incidentlab") -> Contender:
    """Everything that `ingest` does, from the bytes to a new warehouse with its answers."""
    command = (sys.executable, "-m", "incidentlab", "ingest", str(path), "-d", WAREHOUSE, "--jobs", str(jobs))
    return Contender(name, command, path, _look_into_warehouse)


def incidentlab_told(path: Path, jobs: int, name: str) -> Contender:
    """The same; what it found is told as a checksum of all events, written as CSV in the order of their columns."""
    return replace(incidentlab(path, jobs, name), look=_look_at_events)


def _look_at_events(folder: Path, _stdout: str) -> Mapping[str, int]:
    events = ask("sql", "from events order by all", "-d", WAREHOUSE, "--format", "csv", folder=folder)
    return {"text": crc32(events.encode())}


def _look_into_warehouse(folder: Path, _stdout: str) -> Mapping[str, int]:
    [row] = csv.DictReader(ask("sql", _FIGURES, "-d", WAREHOUSE, "--format", "csv", folder=folder).splitlines())
    return {**{name: int(value) for name, value in row.items()}, "bytes": (folder / WAREHOUSE).stat().st_size}


def _printed(name: str) -> Callable[[Path, str], Mapping[str, int]]:
    """The number that ends the output."""
    return lambda _folder, stdout: {name: int(stdout.split()[-1])}


def ripgrep(path: Path, patterns: Path) -> Contender:
    """As one would call it: its sets of characters are those of Unicode."""
    return Contender("ripgrep", ("rg", "-c", "-f", str(patterns), str(path)), path, _printed("hits"))


def ripgrep_bytes(path: Path, patterns: Path) -> Contender:
    """At its best on logs: sets of characters are those of ASCII, which finds the same lines of these."""
    command = ("rg", "-a", "--no-unicode", "-c", "-f", str(patterns), str(path))
    return Contender("ripgrep, ASCII", command, path, _printed("hits"))


def lnav_view(path: Path) -> Contender:
    """Three columns of each line asked of its view of syslog; it matches no signature, so lines are counted."""
    query = ";SELECT count(log_hostname), count(log_procname), count(log_body) FROM syslog_log"
    return Contender("lnav, its view", ("lnav", "-n", "-c", query, str(path)), path, _printed("lines"))


def lnav_table(path: Path) -> Contender:
    """The view's lines stored in a table of the database that it holds in memory."""
    queries = (";CREATE TABLE lines AS SELECT * FROM syslog_log", ";SELECT count(*) FROM lines")
    command = ("lnav", "-n", "-c", queries[0], "-c", queries[1], str(path))
    return Contender("lnav, into a table", command, path, _printed("lines"))


def grep(path: Path, extended_patterns: Path) -> Contender:
    """GNU grep with all expressions; bytes, not characters."""
    return Contender(
        "GNU grep -E", ("grep", "-E", "-c", "-f", str(extended_patterns), str(path)), path, _printed("hits")
    )


def plain_python(path: Path, patterns: Path) -> Contender:
    """One expression of the standard library's `re` over the lines."""
    return Contender(
        "Python re", (sys.executable, str(REFERENCE), "count", str(patterns), str(path)), path, _printed("hits")
    )


def inflate(path: Path) -> Contender:
    """A gzip file decompressed by isal, and nothing else."""
    return Contender("isal alone", (sys.executable, str(REFERENCE), "inflate", str(path)), path, _printed("bytes"))
