"""Peak memory, whatever the input."""

from collections.abc import Iterator
from pathlib import Path

from benchmarks import contenders
from benchmarks.bench import Bench
from benchmarks.measure import race, size_of
from benchmarks.page import Section, Table, megabytes

BASE_MB, WORKER_MB = 250, 150
"""What the program may take, and each of its workers on top."""


def memory(bench: Bench) -> Section:
    """All processes together at one time, once for each input and number of workers."""
    section = Section("Memory", _MEMORY)
    rows: list[tuple[str, ...]] = []
    for jobs in (1, 2):
        limit = BASE_MB + WORKER_MB * jobs
        peaks: dict[str, float] = {}
        for path in _inputs(bench):
            cost = race([contenders.incidentlab(path, jobs)], 1)["incidentlab"].median
            peaks[path.name] = cost.together_bytes
            largest, together = megabytes(cost.largest_bytes), megabytes(cost.together_bytes)
            rows.append((path.name, megabytes(size_of(path)), str(jobs), largest, together, str(limit)))
        worst = max(peaks, key=lambda name: peaks[name])
        section.at_most(f"peak memory, {jobs} worker(s), worst input: {worst}", peaks[worst] / 1e6, limit, " MB")
    section.tables.append(Table(("input", "MB", "workers", "largest process MB", "together MB", "limit MB"), rows))
    return section


_MEMORY = """\
Resident memory of all processes at one time, sampled twenty times a second, or of the largest process as the system
counted it, if that is more. Pages of libraries that the processes share count once for each."""


def _inputs(bench: Bench) -> Iterator[Path]:
    data = bench.data
    yield from (data.plain(), data.zipped(), data.storm(is_varied=False), data.storm(is_varied=True))
    yield from (data.small(), data.tiny(), data.long_lines())
    if bench.is_big:
        yield data.tenfold()
