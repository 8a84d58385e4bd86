"""From the measured slopes to a fleet of 100,000 GPUs."""

from collections.abc import Mapping

from benchmarks.page import Section, Table, seconds

MONTH_BYTES = 30e12
"""What 12,500 hosts of 8 GPUs write in 30 days, uncompressed: 80 MB a host and day."""

DAY_BYTES = MONTH_BYTES / 30
HIT_SHARES = (0.005, 0.0005, 0.00005)
"""Of the lines: as in the plain file, a tenth and a hundredth of it."""

SLOPES = ("chatter", "hit", "warehouse bytes per hit")
NEEDED = (*SLOPES, "bytes per line", "events", "spread", "shard bytes")


def projection(figures: Mapping[str, float]) -> Section:
    """Time, workers and storage by the share of hits; without the slopes it says which part to run."""
    missing = [name for name in NEEDED if name not in figures]
    if missing:
        return Section(
            "100,000 GPUs", f"Not projected: the parts `workers`, `sizes` and `stages` give {', '.join(missing)}."
        )
    if min(figures[name] for name in SLOPES) <= 0:
        return Section("100,000 GPUs", "Not projected: what a byte or a hit costs is below the noise; use more data.")
    rows = [_row(share, figures) for share in HIT_SHARES]
    return Section("100,000 GPUs", _text(figures), [Table(_HEAD, rows)])


_HEAD = (
    "lines that are hits",
    "CPU hours a month",
    "workers for a day's logs in an hour",
    "hits a month, million",
    "times the hits measured",
    "shards GB",
    "warehouse GB",
)


def _row(share: float, figures: Mapping[str, float]) -> tuple[str, ...]:
    cpu_s_per_byte = figures["chatter"] + share * figures["hit"] / figures["bytes per line"]
    hits = MONTH_BYTES / figures["bytes per line"] * share
    shard_bytes = figures["shard bytes"] / figures["events"]
    return (
        f"{share:.3%}",
        seconds(MONTH_BYTES * cpu_s_per_byte / 3600),
        seconds(DAY_BYTES * cpu_s_per_byte / 3600 / _efficiency(figures)),
        f"{hits / 1e6:,.1f}",
        f"{hits / figures['events']:,.0f}",
        f"{hits * shard_bytes / 1e9:,.1f}",
        f"{hits * figures['warehouse bytes per hit'] / 1e9:,.1f}",
    )


def _efficiency(figures: Mapping[str, float]) -> float:
    """What a second worker adds, as a share of the first; more than two were not measured."""
    return figures.get("speedup, eight files", 2.0) / 2


def _text(figures: Mapping[str, float]) -> str:
    return _TEXT.format(efficiency=_efficiency(figures), spread=figures["spread"], hits=figures["events"])


_TEXT = """\
12,500 hosts with 8 GPUs each that write 30 TB a month (1 TB a day, 80 MB a host and day) of plain syslog like the one
measured. It is assumed, not measured, that the cost of a byte and of a hit stay what they are on this machine, that
disks and network deliver as fast as the page cache did, and that many workers add up as two do ({efficiency:.0%} of
twice one). The runs behind the slopes lie up to {spread:.0%} apart; other processors, longer or shorter lines, and
compression move the result more than that. The cost of a hit includes its share of building the warehouse, on a
straight line through at most {hits:,.0f} hits, and that build is one process: where a row is many times beyond them,
its numbers are an order of magnitude, and its months want warehouses of their own. Nothing like one hit in 200 lines
lasts for a month; that row is the upper end."""
