"""Explain why an interruption was judged so, or what became of one line of a log.

incidentlab explain 3f9a
incidentlab explain 3f9a --all
incidentlab explain job-88213.out:99120 -d week10.duckdb
"""

from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

import click
import polars as pl

from incidentlab import answers, options, verdicts, warehouse
from incidentlab.answers import Connection
from incidentlab.errors import UsageError
from incidentlab.neutral import neutral
from incidentlab.terminal import counted, emit
from incidentlab.verdicts import Row, Verdict, paragraph

_MOST_EVIDENCE = 12
_MOST_DIGITS = 18


@click.command
@click.argument("subject", metavar="ID|FILE:LINE")
@options.warehouse
@click.option("--all", "is_all", is_flag=True, help="Show all lines of evidence, not only the most telling.")
def command(subject: str, warehouse_path: Path, *, is_all: bool) -> None:
    """Explain an interruption, the first one of an incident, or a line."""
    with warehouse.open_readonly(warehouse_path) as con:
        file, _, number = subject.rpartition(":")
        if file and number.isdecimal() and len(number) <= _MOST_DIGITS:
            sources = _sources(con, file, int(number), warehouse_path)
            lines: Iterable[str] = chain.from_iterable(_line(con, source, int(number)) for source in sources)
        else:
            verdict = verdicts.judge(con, _interruption(con, subject))
            more = options.call(
                "explain", verdict.interruption["interruption_id"], "--all", warehouse_path=warehouse_path
            )
            lines = _verdict(verdict, more, len(verdict.evidence) if is_all else _MOST_EVIDENCE)
        emit("".join(f"{line}\n" for line in lines))


def _interruption(con: Connection, identity: str) -> Row:
    found = verdicts.find(con, identity)
    if found and "interruption_id" not in found:
        found = next(iter(verdicts.interruptions_of(con, found)), None)
    if not found:
        raise UsageError(f"{identity!r} is neither FILE:LINE nor the id of an interruption, or of an incident with one")
    return found


def _verdict(verdict: Verdict, more: str, most: int) -> Iterator[str]:
    """The whole case; `more` is the call that shows what is beyond the `most` lines of evidence."""
    row = verdict.interruption
    where = verdicts.place(row)
    cause = f"{row['label'] or row['component'] or 'no fault'}{f' on {where}' if where else ''}"
    yield from paragraph("VERDICT", " - ".join(filter(None, (cause, (row["confidence"] or "").upper()))))
    yield from paragraph("", verdicts.ending(row))
    yield from paragraph("", verdicts.reason(row))
    yield "BECAUSE"
    yield from _evidence(verdict.evidence, more, most)
    yield "RULED OUT"
    yield from _ruled_out([other for other in verdict.hypotheses if not other["is_selected"]])
    yield "NOT CHECKED"
    yield from _not_checked(verdict.coverage)


def _evidence(evidence: list[Row], more: str, most: int) -> Iterator[str]:
    if not evidence:
        yield "   no line of a log speaks of it"
    shown = verdicts.strongest(evidence, most)
    for row in shown:
        head = " ".join(filter(None, (verdicts.delay(row["delta_s"]), verdicts.place(row), row["signature"])))
        yield from paragraph(f"{row['seq']:>3} {row['role']}", head, indent=17)
        yield from list(paragraph("", row["message"] or "", indent=17))[:3]
        yield f"{'':17}{verdicts.line_of(row)}"
    if len(evidence) > len(shown):
        yield neutral(f"   and {counted(len(evidence) - len(shown), 'line')} more: {more}")


def _ruled_out(others: list[Row]) -> Iterator[str]:
    if not others:
        yield "   nothing else was considered"
    for row in others:
        head = " ".join(filter(None, (row["component"], verdicts.place(row))))
        yield from paragraph("", f"{head}: {row['rule']}. Against it: {row['against'] or 'weaker evidence'}.", indent=3)


def _not_checked(coverage: list[Row]) -> Iterator[str]:
    blind = [row for row in coverage if row["covered_nodes"] < row["nodes"]]
    if not blind:
        yield "   nothing: every channel has lines of every node"
    for row in blind:
        nodes = f"no line of {row['nodes'] - row['covered_nodes']:,} of {counted(row['nodes'], 'node')}"
        missing = "no record of the job" if row["channel"] == "accounting" else nodes
        yield from paragraph("", f"{row['channel']}: {missing}", indent=3)


def _line(con: Connection, source: Row, number: int) -> Iterator[str]:
    """The way of one line from its source to an interruption, as far as it went."""
    fates = answers.ask(con, "line_fate", of_file=source["path"], of_line=number).rows(named=True)
    caught = [row for row in fates if row["source_id"] == source["source_id"]]
    asked = _RECORDS.format(id=warehouse.literal(source["source_id"]), line=number)
    records = answers.select(con, asked).rows(named=True)
    yield f"{neutral(source['path'])}:{number}"
    kind = f"{source['status']} as {source['format'] or 'nothing known'}"
    yield from paragraph("source", "; ".join(filter(None, (kind, source["reason"]))))
    for row in records:
        step = f" step {row['step']}" if row["step"] else ""
        yield from paragraph("record", f"job {row['job_id']}{step}, {row['state']}")
    for row in caught:
        yield from _fate(row)
    if not caught and not records and source["status"] == "used":
        yield from _silence(con, source, number)


def _silence(con: Connection, source: Row, number: int) -> Iterator[str]:
    """Why a line became nothing: nothing asks for it, or in a storm another one stands for it."""
    asked = _STORMS.format(id=warehouse.literal(source["source_id"]), line=number)
    storms = answers.select(con, asked).rows(named=True)
    for storm in storms:
        text = f"if it says what line {storm['first_line']} says, line {storm['last_line']} stands for it"
        yield from paragraph("storm", f"{text} and {storm['others'] - 1:,} more: {storm['message']}")
    nothing = "nothing asks for it: no signature catches it and no parser read it"
    yield from paragraph("line", f"else {nothing}" if storms else nothing)


_STORMS = """
    select
        min(line_no) as first_line, max(line_no) as last_line, max(repeat_count) as others, min(message) as message
    from intake.events
    where source_id = {id} and alike is not null
    group by alike, signature, node
    having max(repeat_count) > 1 and count(*) > 1 and min(line_no) < {line} and max(line_no) > {line}
    order by last_line, first_line, message
    limit 3
"""


_RECORDS = """
    select r.job_id, r.step, r.state
    from intake.job_records as r
    where r.source_id = {id} and r.line_no = {line}
    order by all
"""


def _sources(con: Connection, file: str, number: int, warehouse_path: Path) -> Iterable[Row]:
    """The sources with this path, else with the only one that ends in it, that have such a line, oldest first.

    Days of one log that were read into one warehouse have one path.
    """
    sources = answers.ask(con, "sources_overview")
    path = pl.col("path")
    found = sources.filter(path == file)
    if not found.height:
        found = sources.filter(path.str.ends_with(f"/{file.removeprefix('./')}"))
    if found["path"].n_unique() != 1:
        several = f"several sources end in it: {', '.join(found['path'].unique(maintain_order=True).head(5))}"
        unread = f"was not read; see: {options.call('list', 'sources', warehouse_path=warehouse_path)}"
        raise UsageError(several if found.height else unread, file)
    rows = found.sort("first_ts").rows(named=True)
    long_enough = [row for row in rows if 1 <= number <= (row["lines"] or 0)]
    if not long_enough:
        most = max(row["lines"] or 0 for row in rows)
        raise UsageError(f"has {most:,} lines, so there is no line {number:,}", rows[0]["path"])
    return long_enough


def _fate(row: Row) -> Iterator[str]:
    words = ", ".join(filter(None, (row["kind"], row["component"], row["strength"])))
    yield from paragraph("caught by", f"{row['signature']} ({words})", indent=11)
    yield from paragraph("", row["message"] or "", indent=11)
    if row["duplicate_of"]:
        yield from paragraph("", f"says the same as event {row['duplicate_of']}, which counts", indent=11)
    if row["interruption_id"]:
        yield from paragraph(
            "charged to", f"{row['interruption_id']}, {row['role']}, {verdicts.delay(row['delta_s'])}", 11
        )
    elif row["event_id"]:
        yield from paragraph("", f"event {row['event_id']} plays no part in an interruption", indent=11)
