"""What all parts share: the data, how often they measure, and how the numbers of a contender become a row."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.data import Data
from benchmarks.measure import Contender, Outcome
from benchmarks.page import Table, megabytes, seconds

COST_HEAD = ("", "MB read", "CPU s", "runs apart", "MB per CPU s", "wall s", "peak MB", "matching lines")


@dataclass(frozen=True, slots=True)
class Bench:
    """One call: its data, the number of runs, the patterns as files, and whether the 10 GB file is read too."""

    data: Data
    runs: int
    patterns: Path
    extended: Path
    is_big: bool = False


def cost_table(contenders: Sequence[Contender], outcomes: Mapping[str, Outcome]) -> Table:
    """One row a contender; who is not installed says so instead of numbers."""
    return Table(COST_HEAD, [_cost_row(contender, outcomes.get(contender.name)) for contender in contenders])


def _cost_row(contender: Contender, outcome: Outcome | None) -> tuple[str, ...]:
    if outcome is None:
        return (contender.name, megabytes(contender.size), "not installed", *[""] * (len(COST_HEAD) - 3))
    cost = outcome.median
    hits = outcome.found.get("hits")
    return (
        contender.name,
        megabytes(contender.size),
        seconds(cost.cpu_s),
        f"{outcome.spread:.0%}",
        seconds(contender.size / 1e6 / cost.cpu_s),
        seconds(cost.wall_s),
        megabytes(cost.together_bytes),
        "" if hits is None else f"{hits:,}",
    )
