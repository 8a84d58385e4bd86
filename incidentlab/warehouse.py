"""The DuckDB file: tables from the model, shards loaded, published atomically, opened read-only.

Written with storage version v1.0.0, so that DuckDB 1.x clients can open it; every connection runs in UTC. Schema
`intake` holds what was read, schema `main` what it means (`derive.py`), and the knowledge both rest on.
"""

import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb

from incidentlab.errors import WarehouseError
from incidentlab.model import SCHEMA_VERSION, Table

_CONFIG = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",  # a missing table is missing, whatever Python calls by its name
}
_MEMORY = "2GB"
"""What DuckDB may take to build a warehouse; beyond it, it works on the disk: a million events need half of that."""

_STORAGE = "storage_version 'v1.0.0', recovery_mode no_wal_writes"  # what is not finished is never recovered
_BOX = {"enable_external_access": "false", "lock_configuration": "true"}


def quoted(name: str) -> str:
    """`name` as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def literal(value: str) -> str:
    """`value` as an SQL string."""
    return "'" + value.replace("'", "''") + "'"


def open_readonly(path: Path, *, boxed: bool = False) -> duckdb.DuckDBPyConnection:
    """A read-only connection in UTC; `boxed` also shuts files, network and settings for SQL from users.

    Raises `WarehouseError` for a missing, locked or foreign file, and for another schema version.
    """
    if not path.is_file():
        raise WarehouseError("there is no warehouse; make one with: incidentlab ingest PATH...", str(path))
    try:
        con = duckdb.connect(str(path), read_only=True, config=dict(_CONFIG))
        con.execute("set TimeZone = 'UTC'")
    except duckdb.Error as error:
        raise WarehouseError(_reason(error), str(path)) from error
    version = schema_version(con)
    if version != SCHEMA_VERSION:
        con.close()
        found = "it is not a warehouse of incidentlab" if version is None else f"it has schema version {version}"
        raise WarehouseError(f"{found}, this program reads version {SCHEMA_VERSION}; ingest again", str(path))
    if boxed:
        for name, value in _BOX.items():
            con.execute(f"set {name} = {value}")
    return con


def _reason(error: duckdb.Error) -> str:
    text = str(error).splitlines()[0]
    if "could not set lock" in text.lower():
        return f"another process has it open for writing ({text})"
    return f"it is not a DuckDB file that this version can open ({text})"


def schema_version(con: duckdb.DuckDBPyConnection) -> int | None:
    """The schema version of the open file, or None if it is not ours."""
    try:
        rows = con.execute("select value from main.meta where key = 'schema_version'").fetchall()
        return int(rows[0][0]) if rows else None
    except (duckdb.Error, ValueError):
        return None


@contextmanager
def publishing(target: Path, workshop: Path | None, old: Path | None) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection to a new file beside `target`, renamed over it when the block ends well.

    It is made in `workshop`, a folder of the same file system, if there is one. What the warehouse at `old` holds is
    attached as `old`; readers that have it open keep their view of it.
    """
    if old:
        open_readonly(old).close()
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{target.name}.", dir=workshop or target.parent) as folder:
        fresh = Path(folder) / "fresh.duckdb"
        con = duckdb.connect(":memory:", config={**_CONFIG, "temp_directory": folder, "memory_limit": _MEMORY})
        try:
            con.execute("set TimeZone = 'UTC'")
            con.execute(f"attach {literal(str(fresh))} as fresh ({_STORAGE})")
            if old:
                con.execute(f"attach {literal(str(old))} as old (read_only)")
            con.execute("use fresh")
            yield con
            con.execute("use memory")
            con.execute("detach fresh")
        except RuntimeError as error:
            if "interrupted" in str(error):  # what DuckDB makes of Ctrl-C
                raise KeyboardInterrupt from error
            raise
        finally:
            con.close()
        fresh.replace(target)


@contextmanager
def at_once(con: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """One commit for all statements of the block, and no search for better plans: they are many, and have none.

    Not for filling tables that later statements of the block read: what is not committed has no statistics to plan by.
    """
    con.execute("set enable_optimizer = false; begin")
    yield
    con.execute("commit; set enable_optimizer = true")


def go_alone(con: duckdb.DuckDBPyConnection) -> None:
    """One thread, and texts stored without a table of their symbols: with few rows, either costs more than it saves."""
    con.execute("set threads = 1; set disabled_compression_methods = 'fsst'")


def create(con: duckdb.DuckDBPyConnection, schema: str, table: Table) -> None:
    """An empty table with its comments."""
    columns = ", ".join(f"{quoted(column.name)} {column.type}" for column in table.columns)
    con.execute(f"create table {schema}.{quoted(table.name)} ({columns})")
    comment(con, schema, table)


def comment(con: duckdb.DuckDBPyConnection, schema: str, table: Table) -> None:
    """The table's and its columns' sentences, stored in the file."""
    name = f"{schema}.{quoted(table.name)}"
    texts = [f"comment on table {name} is {literal(table.doc)}"]
    texts += [f"comment on column {name}.{quoted(column.name)} is {literal(column.doc)}" for column in table.columns]
    con.execute("; ".join(texts))


def has_old(con: duckdb.DuckDBPyConnection) -> bool:
    """Whether the warehouse that is being published takes the place of one, attached as `old`."""
    found = con.execute("select count(*) from duckdb_databases() where database_name = 'old'").fetchone()
    return bool(found and found[0])


def load_rows(
    con: duckdb.DuckDBPyConnection, table: Table, rows: Iterable[Mapping[str, Any]], schema: str = "main"
) -> None:
    """A table from dictionaries, whose absent keys are NULL."""
    create(con, schema, table)
    kept = list(rows)
    if kept:
        values = ", ".join(f"unnest(${place}::{column.type}[])" for place, column in enumerate(table.columns, 1))
        cells = [[row.get(name) for row in kept] for name in table.names]
        con.execute(f"insert into {schema}.{quoted(table.name)} select {values}", cells)
