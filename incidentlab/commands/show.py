"""Show one interruption or incident on one screen.

ID is the id of an interruption or incident, or its beginning, with or without INT- or INC- in front.

    incidentlab show 3f9a
    incidentlab list interruptions --limit 5
    incidentlab query interruption_evidence --format csv
"""

from collections.abc import Iterator
from pathlib import Path

import click

from incidentlab import figures, options, verdicts, warehouse
from incidentlab.errors import UsageError
from incidentlab.neutral import neutral
from incidentlab.terminal import counted, emit
from incidentlab.verdicts import Row, Verdict, paragraph

_MOST_EVIDENCE = 4
_MOST_INTERRUPTIONS = 15


@click.command
@click.argument("identity", metavar="ID")
@options.warehouse
def command(identity: str, warehouse_path: Path) -> None:
    """Show the interruption or incident with this id."""
    with warehouse.open_readonly(warehouse_path) as con:
        row = verdicts.find(con, identity)
        if row is None:
            listed = options.call("list", "interruptions", warehouse_path=warehouse_path)
            raise UsageError(f"no interruption or incident has the id {identity!r}; try: {listed}")
        if "interruption_id" in row:
            lines = _interruption(verdicts.judge(con, row), warehouse_path)
        else:
            lines = _incident(row, verdicts.interruptions_of(con, row))
        emit("".join(f"{line}\n" for line in lines))


def _title(identity: str, row: Row) -> Iterator[str]:
    words = (identity, (row["confidence"] or "").upper(), row["label"] or row["component"], verdicts.place(row))
    yield from paragraph("", "  ".join(filter(None, words)), indent=1)


def _interruption(verdict: Verdict, warehouse_path: Path) -> Iterator[str]:
    row = verdict.interruption
    explained = ("explain", row["interruption_id"])
    yield from _title(row["interruption_id"], row)
    yield from paragraph("", verdicts.ending(row), indent=1)
    for word in ("first_fault", "detected", "next_start"):
        if row[f"{word}_ts"]:
            yield f"  {verdicts.instant(row[f'{word}_ts'])}  {word.replace('_', ' ')}"
    yield from _evidence(verdict.evidence, options.call(*explained, "--all", warehouse_path=warehouse_path))
    yield from paragraph("lost", _loss(row))
    yield from paragraph("why", verdicts.reason(row))
    if row["incident_id"]:
        yield from paragraph("incident", row["incident_id"])
    yield neutral(f"next      {options.call(*explained, warehouse_path=warehouse_path)}")


def _evidence(evidence: list[Row], more: str) -> Iterator[str]:
    """When and where each happened, where it is written, and how it begins."""
    shown = verdicts.strongest(evidence, _MOST_EVIDENCE)
    for row in shown:
        yield from paragraph(row["role"], f"{verdicts.instant(row['ts'])}  {verdicts.place(row)}", indent=14)
        yield from list(paragraph("", row["message"] or "", indent=14))[:2]
        yield f"{'':14}{verdicts.line_of(row)}"
    if len(evidence) > len(shown):
        yield neutral(f"{'':14}and {counted(len(evidence) - len(shown), 'line')} more: {more}")


def _loss(row: Row) -> str:
    """The loss as far as it is known, as in the report."""
    loss = figures.bounded(row, "lost_gpu_h")
    grade = f", grade {row['grade']}" if row.get("grade", "-") != "-" else ""
    return f"{loss} GPU-h{grade}" if loss else "not known"


def _incident(incident: Row, interruptions: list[Row]) -> Iterator[str]:
    yield from _title(incident["incident_id"], incident)
    first, events = verdicts.instant(incident["first_fault_ts"]), counted(incident["event_count"], "event")
    yield from paragraph("", f"first fault {first}; {events}, {counted(len(interruptions), 'interruption')}", indent=1)
    for row in interruptions[:_MOST_INTERRUPTIONS]:
        yield from paragraph(
            "", f"{verdicts.instant(row['ts'])}  {row['interruption_id']}  job {row['job_id']}", indent=3
        )
    if len(interruptions) > _MOST_INTERRUPTIONS:
        yield f"  and {len(interruptions) - _MOST_INTERRUPTIONS} more"
    if interruptions:
        yield from paragraph("lost", _loss(incident))
