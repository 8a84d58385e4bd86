"""Small worlds: rows as intake would write them, in memory, derived; and what intake makes of files."""

import hashlib
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb

from incidentlab import derive, intake, manifest, pipeline, shards, units, warehouse
from incidentlab.discover import Input, Refused
from incidentlab.executors import Where
from incidentlab.model import INTAKE, Table
from incidentlab.signatures import Signature
from incidentlab.stores import open_store
from incidentlab.terminal import Talk

Row = Mapping[str, Any]


def derived(
    *,
    events: Sequence[Row] = (),
    job_records: Sequence[Row] = (),
    progress: Sequence[Row] = (),
    sources: Sequence[Row] | None = None,
    knowledge: Mapping[str, Sequence[Row]] | None = None,
) -> duckdb.DuckDBPyConnection:
    """A derived warehouse in memory; every source that a row names exists unless `sources` says otherwise."""
    con = duckdb.connect(":memory:")
    con.execute("set TimeZone = 'UTC'")
    con.execute("create schema intake")
    given = {"events": events, "job_records": job_records, "progress": progress}
    given["sources"] = sources if sources is not None else _implied(given)
    for table in INTAKE:
        warehouse.load_rows(con, table, given[table.name], "intake")
    derive.load_knowledge(con, knowledge or {})
    derive.derive(con)
    return con


def taken_in(
    found: Sequence[Input | Refused], folder: Path, signatures: Sequence[Signature], jobs: int = 1
) -> dict[str, list[dict[str, Any]]]:
    """The tables of schema `intake` by name after reading what was `found`; the shards lie in `folder`/shards."""
    how = shards.recipe(open_store(folder / "shards"), signatures)
    plan = units.plan(found, how.knowledge)
    made = pipeline.read(plan, how, Where(jobs), Talk(shows_progress=False), folder)
    manifest.save(made, folder)
    with duckdb.connect() as con:
        con.execute("set TimeZone = 'UTC'")
        intake.load(con, folder, made.shards)
        return {table.name: _rows(con, table) for table in INTAKE}


def _rows(con: duckdb.DuckDBPyConnection, table: Table) -> list[dict[str, Any]]:
    rows = con.execute(f"from intake.{table.name}").fetchall()
    return [dict(zip(table.names, row, strict=True)) for row in rows]


def _implied(given: Mapping[str, Sequence[Row]]) -> list[Row]:
    named: dict[str, list[datetime]] = {}
    channels: dict[str, str] = {}
    for table, rows in given.items():
        for row in rows:
            stamps = named.setdefault(row["source_id"], [])
            channels.setdefault(row["source_id"], row.get("channel", "accounting" if table == "job_records" else "job"))
            stamps.extend(row[name] for name in ("local_ts", "start_ts", "end_ts") if row.get(name))
    return [source(name, channels[name], stamps) for name, stamps in sorted(named.items())]


def signature(name: str, component: str, **values: Any) -> Row:
    """One signature: a direct fault in the kernel log, unless `values` say otherwise."""
    return {
        "name": name, "channels": ["kernel"], "kind": "fault", "component": component, "strength": "direct",
        "severity": "error", "tier": 4, "scope": "node", "meaning": f"{name} was seen",
    } | values  # fmt: skip


def source(source_id: str, channel: str, stamps: Sequence[datetime] = (), **values: Any) -> Row:
    """One used source."""
    return {
        "source_id": source_id, "path": source_id, "digest": source_id, "channel": channel, "status": "used",
        "lines": 100, "matched_lines": 10, "unmatched_lines": 90, "unparsed_lines": 0, "has_year": True,
        "format": "plain",
        "first_local_ts": stamps[0] if stamps else None, "last_local_ts": stamps[-1] if stamps else None,
    } | values  # fmt: skip


def event(source_id: str, line_no: int, signature: str, local_ts: datetime | None, **values: Any) -> Row:
    """One event of a kernel log, unless `values` say otherwise."""
    text = f"{source_id}|{line_no}|{signature}|{values.get('node')}"
    return {
        "event_id": hashlib.sha256(text.encode()).hexdigest()[:16], "source_id": source_id, "line_no": line_no,
        "line_count": 1,
        "channel": "kernel", "signature": signature, "local_ts": local_ts, "has_year": True, "ts_uncertainty_s": 1.0,
        "repeat_count": 1, "message": text, "fields": "{}",
    } | values  # fmt: skip


def job(source_id: str, line_no: int, job_id: str, state: str, **values: Any) -> Row:
    """One accounting record of a job."""
    return {
        "record_id": f"{source_id}:{line_no}", "source_id": source_id, "line_no": line_no, "job_id": job_id,
        "state": state,
        "name": "train", "user_name": "mira", "node_count": 2, "gpu_count": 16, "nodes": ["n1", "n2"],
        "elapsed_s": 3600,
        "has_duplicates": True,
    } | values  # fmt: skip
