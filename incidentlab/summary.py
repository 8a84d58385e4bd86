"""What a person is told about a reading and its result: a handful of lines, each with the count it rests on."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

from incidentlab import answers, options, warehouse
from incidentlab.terminal import Talk, counted, size

_FIRST_WORD = 10


_NAMED_FILES = 3


def say_files(talk: Talk, sources: pl.DataFrame) -> None:
    """Say at level 1 what became of each file."""
    for line in _file_lines(sources):
        talk.say(line, level=1)


def say_reading(talk: Talk, sources: pl.DataFrame) -> None:
    """Say what was recognised, by format, and what was not, by reason; few files are named."""
    total, lines = (int(sources[name].sum()) for name in ("bytes", "lines"))
    talk.say(_line("read", f"{counted(sources.height, 'file')}, {size(total)}, {counted(lines, 'line')}"))
    used = sources.filter(pl.col("status") == "used")
    for name, files, lines, matched, _ in _by(used, "format"):
        counts = f"{counted(files, 'file'):>13} {counted(lines, 'line'):>18} {matched:>12,} matched"
        talk.say(_line("used", f"{name:<24} {counts}"))
    for status in ("unused", "failed"):
        for reason, files, _, _, first in _by(sources.filter(pl.col("status") == status), "reason"):
            names = f" ({', '.join(first)})" if files <= _NAMED_FILES else ""
            talk.say(_line(status, f"{counted(files, 'file')}: {reason}{names}"))


def _by(sources: pl.DataFrame, key: str) -> Iterator[tuple[Any, ...]]:
    """Files, lines, matched lines and the first paths by the values of a column, the most files first."""
    sums = pl.col("lines", "matched_lines").sum()
    counts = sources.group_by(key).agg(pl.len().alias("files"), sums, pl.col("path").head(_NAMED_FILES))
    return counts.sort("files", key, descending=[True, False]).iter_rows()


def _file_lines(sources: pl.DataFrame) -> Iterator[str]:
    counts = ("lines", "matched_lines", "unparsed_lines")
    for row in sources.iter_rows(named=True):
        numbers = ", ".join(f"{row[name]:,} {name.partition('_')[0]}" for name in counts if row[name])
        words = "; ".join(filter(None, (row["format"], numbers, row["reason"])))
        yield _line(row["status"], f"{row['path']}: {words}")


def say_zones(talk: Talk, warehouse_path: Path) -> None:
    """Say which zone was assumed, and for how many files, where nothing tells it."""
    with warehouse.open_readonly(warehouse_path) as con:
        sources = answers.ask(con, "sources_overview")
    assumed = sources.filter(pl.col("timezone_basis").str.starts_with("assumed"))
    for zone, files, *_ in _by(assumed, "timezone"):
        words = f"time zone of {counted(files, 'file')}: {zone}; give --tz or [cluster] timezone"
        talk.say(_line("assumed", words))


def say_result(talk: Talk, headline: dict[str, Any]) -> None:
    """Say how often training was stopped and how sure the causes are."""
    if not headline["interruptions"]:
        talk.say(_line("result", f"no interruption in {counted(headline['attempts'] or 0, 'attempt')}"))
        return
    buckets = ", ".join(f"{headline[name]:,} {name}" for name in ("unplanned", "planned", "policy") if headline[name])
    talk.say(_line("result", f"{counted(headline['interruptions'], 'interruption')}: {buckets}"))
    words = ("confirmed", "suspected", "unattributed")
    talk.say(_line("", "of the unplanned: " + ", ".join(f"{headline[name] or 0:,} {name}" for name in words)))
    if headline["mtti_h"] is not None:
        lo, hi = (headline[f"mtti_h_{end}"] for end in ("lo", "hi"))
        spread = f"{lo:.2f} to {hi:.2f}" if hi is not None else f"at least {lo:.2f}"
        talk.say(_line("", f"MTTI {headline['mtti_h']:.2f} h (95 %: {spread}), {headline['mtti_basis']}"))


def say_next(talk: Talk, interruptions: pl.DataFrame, warehouse_path: Path) -> None:
    """Say how to look at the costliest unplanned interruption."""
    unplanned = interruptions.filter(pl.col("bucket") == "unplanned")
    if unplanned.height:
        worst = unplanned.sort("lost_gpu_h", "ts", descending=[True, False], nulls_last=True)["interruption_id"][0]
        talk.say(_line("next", f"{options.call('show', worst, warehouse_path=warehouse_path)}   # the costliest"))


def _line(word: str, text: str) -> str:
    return f"{word:<{_FIRST_WORD}}{text}"
