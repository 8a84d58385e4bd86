"""How the cost grows: with workers, with the size of the input, and with the hits in it."""

import statistics
from collections.abc import Mapping
from pathlib import Path

from benchmarks import contenders
from benchmarks.bench import Bench
from benchmarks.measure import Outcome, race, size_of
from benchmarks.page import Bar, Section, Table, megabytes, seconds

PIECES = 8
SHARES = (0.1, 0.3, 1.0)
"""Of the plain file; three points of the line of cost over size."""


def workers(bench: Bench) -> Section:
    """One and two workers on many files and on a single one."""
    section = Section("Workers", "Wall time of one and of two workers; the pieces are the plain file cut in eight.")
    rows: list[tuple[str, ...]] = []
    for name, path in (("eight files", bench.data.pieces(PIECES)), ("one file", bench.data.plain())):
        outcomes = race([contenders.incidentlab_told(path, jobs, str(jobs)) for jobs in (1, 2)], bench.runs)
        section.bars.append(_sameness(name, outcomes))
        one, two = outcomes["1"].median, outcomes["2"].median
        rows += [(name, jobs, seconds(cost.wall_s), seconds(cost.cpu_s)) for jobs, cost in (("1", one), ("2", two))]
        section.at_least(f"two workers over one, {name}", one.wall_s / two.wall_s, 1.8, " x")
        section.figures[f"speedup, {name}"] = one.wall_s / two.wall_s
    section.tables.append(Table(("input", "workers", "wall s", "CPU s"), rows))
    return section


def _sameness(name: str, outcomes: Mapping[str, Outcome]) -> Bar:
    """Whether the events are the same bytes, however many workers read them."""
    texts = {outcome.found["text"] for outcome in outcomes.values()}
    return Bar(f"events of one and of two workers, {name}", "the same bytes", f"{len(texts)} text(s)", len(texts) == 1)


def sizes(bench: Bench) -> Section:
    """The line of CPU over size, what a hit adds, and how the warehouse grows."""
    files = [bench.data.beginning(round(bench.data.size * share)) for share in SHARES]
    quiet = bench.data.quiet()
    outcomes = race([contenders.incidentlab(path, name=path.name) for path in (*files, quiet)], bench.runs)
    grown = [(size_of(path), outcomes[path.name]) for path in files]
    section = Section("Size", _SIZES)
    section.figures = _slopes(grown, size_of(quiet), outcomes[quiet.name])
    section.tables += [_size_table([*files, quiet], outcomes), _slope_table(section.figures)]
    return section


_SIZES = """\
One worker on beginnings of the plain file, and on the same chatter with next to no hits. The line through the first
three (least squares) gives the cost of a byte, and that of a start, which includes building an almost empty warehouse;
the quiet file says which part of a byte's cost is that of its hits."""


def _slopes(grown: list[tuple[int, Outcome]], quiet_size: int, quiet: Outcome) -> dict[str, float]:
    """CPU seconds of a start, of a byte, of a hit and of a byte of chatter; bytes of a line and, stored, of a hit."""
    cpu = [outcome.median.cpu_s for _, outcome in grown]
    hits = [outcome.found["hits"] for _, outcome in grown]
    slope, start = statistics.linear_regression([size for size, _ in grown], cpu)
    stored, _ = statistics.linear_regression(hits, [outcome.found["bytes"] for _, outcome in grown])
    size, whole = grown[-1]
    hits_per_byte = hits[-1] / size
    # Two equations: a byte of the plain file costs `slope`; the quiet file costs so much less for so many hits less.
    saved = start + slope * quiet_size - quiet.median.cpu_s
    per_hit = saved / (hits_per_byte * quiet_size - quiet.found["hits"])
    return {
        "start": start,
        "byte": slope,
        "hit": per_hit,
        "chatter": slope - per_hit * hits_per_byte,
        "bytes per line": size / whole.found["lines"],
        "warehouse bytes per hit": stored,
        "events": whole.found["events"],
        "spread": max(outcome.spread for _, outcome in grown),
    }


def _size_table(files: list[Path], outcomes: Mapping[str, Outcome]) -> Table:
    head = ("file", "MB", "hits", "CPU s", "wall s", "warehouse MB")
    return Table(head, [_size_row(path, outcomes[path.name]) for path in files])


def _size_row(path: Path, outcome: Outcome) -> tuple[str, ...]:
    return (
        path.name,
        megabytes(size_of(path)),
        f"{outcome.found['hits']:,}",
        seconds(outcome.median.cpu_s),
        seconds(outcome.median.wall_s),
        f"{outcome.found['bytes'] / 1e6:,.1f}",
    )


def _slope_table(figures: dict[str, float]) -> Table:
    rows = [
        ("a start (CPU s)", seconds(figures["start"])),
        ("with one hit in 200 lines (MB per CPU s)", seconds(1e-6 / figures["byte"])),
        ("chatter alone (MB per CPU s)", seconds(1e-6 / figures["chatter"])),
        ("a hit (CPU microseconds)", seconds(figures["hit"] * 1e6)),
        ("a hit in the warehouse (bytes)", f"{figures['warehouse bytes per hit']:,.0f}"),
    ]
    return Table(("cost of", "is"), rows)
