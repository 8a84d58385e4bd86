"""What each stage costs, from the bytes to the report."""

import json
import statistics
import sys
import tempfile
from pathlib import Path
from typing import TypedDict

from benchmarks.bench import Bench
from benchmarks.measure import output, run, size_of
from benchmarks.page import Section, Table, seconds


class _Measured(TypedDict):
    """What `stage_costs` prints."""

    costs: list[tuple[str, float]]
    shard_bytes: float


LAST_OF_READING = "shards"
"""Up to here each stage includes those before it."""


def stages(bench: Bench) -> Section:
    """All stages on the plain file, measured within one process."""
    plain = bench.data.plain()
    measured = [_measured(plain) for _ in range(bench.runs)]
    names = [name for name, _ in measured[0]["costs"]]
    costs = {name: statistics.median(dict(once["costs"])[name] for once in measured) for name in names}
    section = Section("Stages", _STAGES, [_table(costs, size_of(plain))])
    section.figures = {"shard bytes": measured[0]["shard_bytes"], "derive": costs["derive"]}
    return section


_STAGES = """\
CPU on the plain file, each stage on its own in one process. The stages of the reading, down to the shards, include
those before them; their own part is the difference, which noise can make negative. That of the shards includes
compiling the patterns, which the stages before it share."""


def _measured(path: Path) -> _Measured:
    with tempfile.TemporaryDirectory(prefix="benchmark-") as folder:
        run((sys.executable, "-m", "benchmarks.stage_costs", str(path)), Path(folder))
        measured: _Measured = json.loads(output(Path(folder)))
        return measured


def _table(costs: dict[str, float], size: int) -> Table:
    rows: list[tuple[str, ...]] = []
    before, is_reading = 0.0, True
    for name, cost in costs.items():
        own = cost - before
        rows.append((name, seconds(cost), seconds(own), seconds(size / 1e6 / cost)))
        is_reading = is_reading and name != LAST_OF_READING
        before = cost if is_reading else 0.0
    return Table(("stage", "CPU s", "of which its own", "MB per CPU s"), rows)
