"""Schema `intake`: what the shards of this run hold, and what the warehouse held before.

Rows get here what needs the whole source: their source's id, their line number in it, and an id of their own.
"""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb

from incidentlab import assets, sqlfiles
from incidentlab.folding import MOST_KEPT
from incidentlab.model import EVENTS, INTAKE, READINGS, SOURCES, Table
from incidentlab.warehouse import at_once, create, has_old, literal, quoted

_IDS = {
    "event_id": "concat_ws(' ', digest, line_no, signature, coalesce(node, ''))",
    "record_id": "concat_ws(' ', digest, line_no)",
}
"""What an id is the hash of: source content, line, signature and node."""

_ORDER = {
    "events": "source_id, line_no, signature, node",
    "job_records": "source_id, line_no",
    "progress": "source_id, line_no, kind, step",
}

_FOLDED = f"""
    prefixes as (select source_id, max(settled_lines) as lines from intake.sources group by source_id),
    placed as (
        select r.*, r.line_no <= coalesce(p.lines, 0) as stays
        from read_rows as r left join prefixes as p using (source_id)
    ),
    crowds as (
        select
            source_id, stays, alike, signature, node, min(line_no, {MOST_KEPT}) as first_lines,
            max(line_no) as last_line,
            sum(coalesce(repeat_count, 1))
            - list_sum(arg_min(coalesce(repeat_count, 1), line_no, {MOST_KEPT})) as others
        from placed where alike is not null group by source_id, stays, alike, signature, node
        having count(*) > {MOST_KEPT} + 1
    ),
    folded as (
        select
            r.* exclude (stays)
            replace (if(r.line_no = c.last_line, least(c.others, {2**63 - 1}), r.repeat_count)::bigint as repeat_count)
        from placed as r left join crowds as c
            on r.source_id = c.source_id and r.stays = c.stays and r.alike = c.alike and r.signature = c.signature
            and r.node is not distinct from c.node
        where c.source_id is null or r.line_no = c.last_line or list_contains(c.first_lines, r.line_no)
    ),
"""
"""Events that are alike and were folded range by range are folded together; see `folding`.

What stays when the source grows and its tail are folded apart: the tail's rows will be taken away, not their counts.
"""


def load(
    con: duckdb.DuckDBPyConnection,
    folder: Path | None,
    shards: Mapping[str, Sequence[str]],
    unchanged: Collection[str] = (),
    *,
    is_alone: bool = False,
) -> None:
    """Fill the schema from a manifest in `folder`, the `shards` by table, and the old warehouse.

    All is kept as it was read; which of it counts is for `queries/derive/source_fates.sql` to say. Of the old warehouse
    stays what was read from files that are `unchanged`, and, unless these shall be `is_alone`, content that is found no
    more, such as an earlier day's log of the same name. But what has another name now is listed under that alone, what
    was of no use makes room for what is read in its place, and a log that has grown replaces what it was.
    """
    with at_once(con):
        con.execute("create schema intake")
        for table in (*INTAKE, READINGS):
            create(con, "intake", table)
    _open_manifest(con, folder)
    _insert_sources(con, unchanged, is_alone=is_alone)
    for table in INTAKE[1:]:
        _insert_rows(con, table, shards.get(table.name, ()))
    if has_old(con):
        _forget_beginnings(con)


def _open_manifest(con: duckdb.DuckDBPyConnection, folder: Path | None) -> None:
    """The manifest's tables, with one path a source: its rows are the same under all of them."""
    for name in ("sources", "spans", "kept", "readings"):
        source = _parquet([str(folder / f"{name}.parquet")]) if folder else _EMPTY[name]
        con.execute(f"create temp table new_{name} as from {source}")
    con.execute("create temp table chosen as select source_id, min(path) as path from new_sources group by source_id")


_EMPTY = {
    "sources": "(from intake.sources limit 0)",
    "readings": "(from intake.readings limit 0)",
    "spans": "(select '' as unit, 0 as span, '' as path, '' as source_id, 0 as add_lines limit 0)",
    "kept": "(select '' as path, '' as source_id, '' as known_id, 0 as known_lines limit 0)",
}


def _parquet(files: Sequence[str]) -> str:
    """These files as a table: what their folders are called (`node=n99`) is none of its columns."""
    return f"read_parquet([{', '.join(map(literal, files))}], hive_partitioning = false)"


def _insert_sources(con: duckdb.DuckDBPyConnection, unchanged: Collection[str], *, is_alone: bool) -> None:
    con.execute("insert into intake.readings by name from new_readings order by path")
    con.execute("create temp table old_sources as from new_sources limit 0")
    if has_old(con):
        con.execute(_OLD_SOURCES, {"unchanged": list(unchanged), "is_alone": is_alone})
        con.execute("""
            insert into intake.readings by name
            select o.* from old.intake.readings as o semi join old_sources using (path, source_id)
            anti join new_readings using (file) order by o.path
        """)
    con.execute("""
        insert into intake.sources by name
        select * from (select * replace (true as is_found) from new_sources union all by name from old_sources)
        order by source_id, path
    """)


_OLD_SOURCES = """
    insert into old_sources by name
    with unchanged as (
        select path, source_id from old.intake.readings where file in (select unnest($unchanged::varchar[]))
    ),
    found as (select path, source_id from new_sources union all from unchanged)
    select o.* replace (u.path is not null as is_found)
    from old.intake.sources as o
    left join unchanged as u using (path, source_id)
    where u.path is not null or (
        not $is_alone
        and o.source_id not in (select known_id from new_kept union all select source_id from found)
        and not (o.status <> 'used' and o.path in (select path from found))
    )
"""


def _insert_rows(con: duckdb.DuckDBPyConnection, table: Table, shards: Sequence[str]) -> None:
    """The rows of one table, each once, with their ids."""
    columns = [name for name in table.names if name not in {"source_id", "line_no", *_IDS}]
    kept = ", ".join(map(quoted, columns))
    parts = []
    if shards:
        parts.append(f"""
            select s.source_id, r.line_no + s.add_lines as line_no, {kept}
            from {_parquet(shards)} as r
            inner join (new_spans semi join chosen using (source_id, path)) as s using (unit, span)
        """)
    if has_old(con):
        parts.append(f"""
            select k.source_id, line_no, {kept} from old.intake.{table.name} as o
            inner join (new_kept semi join chosen using (source_id, path)) as k
                on o.source_id = k.known_id and o.line_no <= k.known_lines
            union all
            select source_id, line_no, {kept} from old.intake.{table.name}
            where source_id in (select source_id from old_sources)
            and source_id not in (select source_id from new_sources)
        """)
    if parts:
        rows = "folded" if table is EVENTS else "read_rows"
        ids = "".join(f"left(sha256({_IDS[name]}), 16) as {name}, " for name in table.names if name in _IDS)
        con.execute(f"""
            with read_rows as ({" union all ".join(parts)}),
            {_FOLDED if table is EVENTS else ""}
            digests as (select source_id, any_value(digest) as digest from intake.sources group by source_id)
            insert into intake.{table.name} by name
            select {ids} r.* from {rows} as r inner join digests using (source_id) order by {_ORDER[table.name]}
        """)


def _forget_beginnings(con: duckdb.DuckDBPyConnection) -> None:
    """Take away what was found no more and is the beginning of a longer reading of the same log."""
    fates = sqlfiles.read(assets.folder("queries") / "derive" / "source_fates.sql").body
    con.execute(f"create temp table fates as {fates}")
    con.execute("""
        delete from intake.sources
        where not is_found and (path, source_id) in (select (path, source_id) from fates where whole_id is not null)
    """)
    con.execute("""
        delete from intake.readings where (path, source_id) not in (select (path, source_id) from intake.sources)
    """)
    for table in INTAKE[1:]:
        con.execute(f"delete from intake.{table.name} where source_id not in (select source_id from intake.sources)")


def sources_of(con: duckdb.DuckDBPyConnection, files: Collection[str]) -> list[tuple[Any, ...]]:
    """The rows of `sources` that were read from these files, as an open warehouse has them."""
    columns = ", ".join(quoted(name) for name in SOURCES.names)
    return con.execute(
        f"select {columns} from intake.sources semi join intake.readings using (path, source_id) "
        "where path in (select path from intake.readings where file in (select unnest($files::varchar[])))",
        {"files": list(files)},
    ).fetchall()


def readings(con: duckdb.DuckDBPyConnection, knowledge: str) -> list[tuple[object, ...]]:
    """What an open warehouse knows of its sources that were read with this knowledge: rows of `readings`, and bytes."""
    columns = ", ".join(name for name in READINGS.names if name != "knowledge")
    asked = f"select {columns}, bytes from intake.readings inner join intake.sources using (path, source_id)"
    return con.execute(f"{asked} where knowledge = ?", [knowledge]).fetchall()
