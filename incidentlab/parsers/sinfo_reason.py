"""Why nodes are down or drained, as `sinfo -R` lists it: default, -l, or any format with a delimiter.

The default cuts the reason at 20 characters; the time is when the reason was set, not when the node failed
(src/sinfo/opts.c and print.c).
"""

import re
from collections.abc import Iterator
from datetime import datetime

from incidentlab import hosts
from incidentlab.model import Row
from incidentlab.parsers import Lines, Parser, Sample, Unparsed, as_json, slurm_table, slurm_values

_GRAMMAR = slurm_table.Grammar(
    readers={
        "timestamp": slurm_values.instant,
        "nodelist": slurm_values.host_list,
        "hostnames": slurm_values.host_list,
    },
    free=frozenset(("reason",)),
)
_NEEDED = frozenset(("reason", "timestamp"))
_PLACES = ("nodelist", "hostnames")
_NO_REASON = frozenset(("", "none"))
_HEAD_LINES = 3


def _head(line: str, before: str) -> slurm_table.Delimited | slurm_table.FixedWidth | None:
    """The table that the line opens; `before` is not asked, since there is no line of dashes."""
    del before
    table = slurm_table.delimited(line, _GRAMMAR) or _ruled(line)
    return table if table and _NEEDED.issubset(table.columns) and set(_PLACES) & set(table.columns) else None


def _ruled(header: str) -> slurm_table.FixedWidth | None:
    """The fixed columns of the default and the long form: each begins where its name does."""
    if not header.startswith("REASON "):
        return None
    names = list(re.finditer(r"\S+", header))
    ends = [name.start() for name in names[1:]]
    spans = tuple(zip((name.start() for name in names), [*ends, None], strict=True))
    return slurm_table.FixedWidth(_GRAMMAR, tuple(name[0].lower() for name in names), spans)


def _recognise(head: bytes) -> bool:
    lines = head.decode("utf-8", "replace").splitlines()[:_HEAD_LINES]
    return any(_head(line, "") for line in lines)


def _parse(lines: Lines) -> Iterator[Row | Unparsed]:
    for record in slurm_table.records(lines, _head):
        if isinstance(record, Unparsed):
            yield record
        elif not _nodes(record):
            yield Unparsed(record.line_no, "no node is named")
        elif record.values["reason"].lower() not in _NO_REASON:
            yield from _events(record)


def _nodes(record: slurm_table.Record) -> tuple[str, ...]:
    return hosts.expand(next((record.values[place] for place in _PLACES if record.values.get(place)), ""))


def _events(record: slurm_table.Record) -> Iterator[Row]:
    """One event a node; the state's suffix (`down*`) stays, it says what else is wrong."""
    cells = record.values
    local_ts, utc_offset_s = cells["timestamp"]
    fields = {name: cells[name] for name in ("reason", "user", "state") if cells.get(name)}
    for node in _nodes(record):
        yield Row(
            "events",
            {
                "line_no": record.line_no,
                "line_count": record.line_count,
                "signature": "sinfo-reason",
                "local_ts": local_ts,
                "utc_offset_s": utc_offset_s,
                "has_year": True,
                "ts_uncertainty_s": 1.0,
                "node": node,
                "message": f"sinfo-reason: {cells['reason']}",
                "fields": as_json(fields),
            },
        )


# sinfo -R -l; the first line says when it was asked.
_LONG = """\
Tue Mar 03 09:30:00 2026
REASON               USER         TIMESTAMP           STATE  NODELIST
Not responding       slurm(980)   2026-03-03T09:10:11 down*  n[09-10]
"""

# sinfo -R -o "%E|%u|%H|%t|%N": the reason in full, delimiter and all.
_PIPES = """\
REASON|USER|TIMESTAMP|STATE|NODELIST
fan 3 dead | ticket 88|root|2026-03-03T09:10:11|drain|n11
"""

PARSER = Parser(
    name="sinfo-reason",
    channel="slurm",
    recognise=_recognise,
    parse=_parse,
    samples=(
        Sample(
            _LONG,
            tuple(
                Row(
                    "events",
                    {
                        "line_no": 3,
                        "signature": "sinfo-reason",
                        "local_ts": datetime.fromisoformat("2026-03-03T09:10:11"),
                        "node": node,
                        "message": "sinfo-reason: Not responding",
                        "fields": '{"reason": "Not responding", "state": "down*", "user": "slurm(980)"}',
                    },
                )
                for node in ("n09", "n10")
            ),
        ),
        Sample(
            _PIPES,
            (
                Row(
                    "events",
                    {
                        "line_no": 2,
                        "node": "n11",
                        "fields": '{"reason": "fan 3 dead | ticket 88", "state": "drain", "user": "root"}',
                    },
                ),
            ),
        ),
    ),
)
