"""One interruption with what speaks for its cause and against others, put into words for a screen."""

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
from incidentlab.terminal import counted, width

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


def find(con: Connection, text: str) -> Row | None:
    """The interruption or incident with this id, else the one whose id, or a part of it behind a hyphen, begins so.

    Case does not matter. Only the row of an interruption has an `interruption_id`. `UsageError` if there are several.
    """
    questions = {"interruption_id": "interruption_timeline", "incident_id": "incident_table"}
    rows = {row[key]: row for key, name in questions.items() for row in answers.ask(con, name).iter_rows(named=True)}
    sought = f"-{text}".casefold()
    begun = [identity for identity in rows if sought in f"-{identity}".casefold()]
    found = [identity for identity in begun if len(identity) == len(text)] or begun
    if len(found) > 1:
        raise UsageError(f"{text!r} is the beginning of several: {', '.join(found[:5])}")
    return rows[found[0]] if found else None


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


def ending(row: Row) -> str:
    """What ended how: `unplanned hang of job 4101, 32 GPUs: a collective timed out`."""
    end, _, decided = row["rule"].partition(" / ")
    words = f"{row['bucket']} {row['kind']} of job {row['job_id']}, {counted(row['gpu_count'] or 0, 'GPU')}"
    return f"{words}: {end}" if decided else words  # without a verdict, the end is the reason


def reason(row: Row) -> str:
    """The verdict in a sentence, and the signature of the line that decided, if one did."""
    signature = row["rule"].partition(" / ")[2].partition(":")[0]
    return f"{row['why']} (signature {signature})" if signature not in {"", "none"} else str(row["why"])


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
    """`text` in neutral lines that fit the terminal, hanging under `label`."""
    yield from textwrap.wrap(
        neutral(text) or "-",
        width(),
        initial_indent=f"{neutral(label):<{indent - 1}} ",
        subsequent_indent=" " * indent,
        break_on_hyphens=False,
    )
