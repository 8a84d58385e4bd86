"""One interruption with what speaks for its cause and against others, put into words for a screen of 80 columns."""

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import polars as pl

from incidentlab import answers
from incidentlab.answers import Connection
from incidentlab.errors import UsageError
from incidentlab.neutral import neutral

WIDTH = 80

Row = dict[str, Any]

_ROLES = ("trigger", "contributing", "symptom", "context", "teardown")


@dataclass(frozen=True, slots=True)
class Verdict:
    """An interruption, its evidence in the order of time, what was considered, and which channels could be checked.

    The rows are those of the questions interruption_timeline, interruption_evidence, interruption_hypotheses and
    interruption_coverage.
    """

    interruption: Row
    evidence: list[Row]
    hypotheses: list[Row]
    coverage: list[Row]


def find_interruption(con: Connection, text: str) -> Row | None:
    """The interruption whose id begins with `text`; `UsageError` if there are several."""
    return _by_id(answers.ask(con, "interruption_timeline"), "interruption_id", text)


def find_incident(con: Connection, text: str) -> Row | None:
    """The incident whose id begins with `text`; `UsageError` if there are several."""
    return _by_id(answers.ask(con, "incident_table"), "incident_id", text)


def _by_id(frame: pl.DataFrame, column: str, text: str) -> Row | None:
    """The row with this id, else the one whose id begins so."""
    ids = pl.col(column)
    found = frame.filter(ids == text)
    if not found.height:
        found = frame.filter(ids.str.starts_with(text))
    if found.height > 1:
        raise UsageError(f"{text!r} is the beginning of several: {', '.join(found[column].head(5))}")
    return found.row(0, named=True) if found.height else None


def interruptions_of(con: Connection, incident: Row) -> list[Row]:
    """The interruptions that an incident caused, oldest first."""
    timeline = answers.ask(con, "interruption_timeline")
    return timeline.filter(pl.col("incident_id") == incident["incident_id"]).rows(named=True)


def judge(con: Connection, interruption: Row) -> Verdict:
    """All that the warehouse knows about one interruption."""
    key = interruption["interruption_id"]

    def rows(question: str, **params: str) -> list[Row]:
        return answers.ask(con, question, **params).filter(pl.col("interruption_id") == key).rows(named=True)

    return Verdict(
        interruption,
        rows("interruption_evidence"),
        rows("interruption_hypotheses"),
        rows("interruption_coverage", of_interruption=key),
    )


def strongest(evidence: list[Row], most: int) -> list[Row]:
    """At most `most` rows, triggers before contributing events before symptoms; still in the order of time."""
    ranked = sorted(evidence, key=lambda row: _ROLES.index(row["role"]) if row["role"] in _ROLES else len(_ROLES))
    return sorted(ranked[:most], key=lambda row: row["seq"])


def place(row: Row) -> str:
    """Where it happened: `gpu-a01 GPU 3`."""
    gpu = "" if row.get("gpu_index") is None else f"GPU {row['gpu_index']}"
    return " ".join(filter(None, (row["node"], gpu)))


def line_of(row: Row) -> str:
    """Where it is written, in one piece to be copied: `kern/node412.log:18842`."""
    return f"{neutral(row['path'] or '?')}:{row['line_no']}"


def instant(ts: datetime | None) -> str:
    """A time in UTC, to the second."""
    return f"{ts:%Y-%m-%d %H:%M:%SZ}" if ts else "-"


def delay(seconds: float | None) -> str:
    """Seconds from an event to the end of the attempt, in words: `120.0 s before the end`."""
    if seconds is None:
        return "at an unknown time"
    return f"{abs(seconds):,.1f} s {'before' if seconds <= 0 else 'after'} the end"


def paragraph(label: str, text: str, indent: int = 10) -> Iterator[str]:
    """`text` in neutral lines of at most 80 columns, hanging under `label`."""
    yield from textwrap.wrap(
        neutral(text) or "-",
        WIDTH,
        initial_indent=f"{neutral(label):<{indent - 1}} ",
        subsequent_indent=" " * indent,
        break_on_hyphens=False,
    )
