"""From what was read to what it means: runs `queries/derive/*.sql` in dependency order and publishes the warehouse.

Each file is one SELECT; Python makes the table of its name, checks that its columns are the declared ones, and stores
the questions of `queries/` as views (or table macros, if they have parameters) beside the tables.
"""

import csv
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any

import duckdb

from incidentlab import assets, intake, sqlfiles, warehouse
from incidentlab.errors import DefinitionError
from incidentlab.knowledge import KNOWLEDGE, META, POISSON_LIMITS, SETTINGS
from incidentlab.model import SCHEMA_VERSION, Table
from incidentlab.sqlfiles import SqlFile

FEW_ROWS = 10_000
"""Below this many rows that were read, all that is made of them is made by one thread."""


def build(
    target: Path,
    folder: Path | None,
    shards: Mapping[str, Sequence[str]],
    rows: Mapping[str, Iterable[Mapping[str, Any]]],
    *,
    old: Path | None = None,
    unchanged: Collection[str] = (),
    is_alone: bool = False,
    keeps_settings: bool = False,
) -> None:
    """Publish a warehouse at `target`: what was read now and before (see `intake.load`), and all that follows from it.

    What was read before stands in the warehouse at `old`.
    `rows` are the rows of the knowledge tables by table name; `meta` gets the schema version added. The settings among
    them count for old content as well, unless those it came with are kept.
    """
    with warehouse.publishing(target, folder, old) as con:
        intake.load(con, folder, shards, unchanged, is_alone=is_alone)
        if _rows_read(con) < FEW_ROWS:
            warehouse.go_alone(con)
        load_knowledge(con, rows)
        if warehouse.has_old(con):
            _keep_signatures(con)
            if keeps_settings:
                _keep_settings(con)
        derive(con)


def _rows_read(con: duckdb.DuckDBPyConnection) -> int:
    """How many rows schema `intake` holds."""
    sizes = con.execute("select estimated_size from duckdb_tables() where schema_name = 'intake'").fetchall()
    return sum(size for (size,) in sizes)


def load_knowledge(con: duckdb.DuckDBPyConnection, rows: Mapping[str, Iterable[Mapping[str, Any]]]) -> None:
    """Fill the knowledge tables; a table without rows is empty, not absent."""
    own = {
        META.name: [{"key": "schema_version", "value": str(SCHEMA_VERSION)}],
        POISSON_LIMITS.name: poisson_limits(),
    }
    with warehouse.at_once(con):
        for table in KNOWLEDGE:
            warehouse.load_rows(con, table, [*rows.get(table.name, ()), *own.get(table.name, ())])


def _keep_signatures(con: duckdb.DuckDBPyConnection) -> None:
    """Those that old events were caught by and that this run does not know, such as a site's own."""
    con.execute(
        "insert into main.signatures by name "
        "from old.main.signatures where name not in (select name from main.signatures)"
    )


def _keep_settings(con: duckdb.DuckDBPyConnection) -> None:
    """The time zones, windows, changes and facts of the old warehouse in place of those of this run."""
    for table in SETTINGS:
        ours = "key in ('command', 'version', 'schema_version')" if table is META else "false"
        con.execute(f"create or replace temp table ours as from main.{table.name} where {ours}")
        con.execute(f"delete from main.{table.name}")
        con.execute(f"insert into main.{table.name} from old.main.{table.name} where not ({ours})")
        con.execute(f"insert into main.{table.name} from ours")


def poisson_limits() -> list[dict[str, str]]:
    """Exact 95 % limits of a Poisson mean for 0 to 2,000 events, as text; beyond, Byar's are right to 0.001 events.

    They are quantiles of gamma distributions (Garwood 1936), kept in a file because scipy takes longer to import than
    a small warehouse to build; a test works them out again.
    """
    with assets.knowledge("poisson_limits.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def derive(con: duckdb.DuckDBPyConnection) -> None:
    """Make macros, derived tables and stored questions in the open warehouse."""
    tables = sqlfiles.read_folder(assets.folder("queries") / "derive")
    with warehouse.at_once(con):
        make_macros(con)
        for file in tables.values():
            warehouse.create(con, "main", Table(file.name, file.purpose, file.columns))
    for name in in_order(tables, sqlfiles.reads):
        fill(con, tables[name])
    with warehouse.at_once(con):
        for question in sqlfiles.read_folder(assets.folder("queries")).values():
            store(con, question)


def make_macros(con: duckdb.DuckDBPyConnection) -> None:
    """Store the macros of `queries/macros/`, each after those that it calls."""
    macros = sqlfiles.read_folder(assets.folder("queries") / "macros")
    for name in in_order(macros, sqlfiles.calls):
        con.execute(f"create macro {name}({_parameters(macros[name])}) as ({macros[name].body})")
        con.execute(f"comment on macro {name} is {warehouse.literal(macros[name].purpose)}")


def in_order(files: Mapping[str, SqlFile], needs: Callable[[str, set[str]], set[str]]) -> Sequence[str]:
    """The names of the files, each after those that it needs; a circle is a `DefinitionError`."""
    graph = {name: needs(file.body, set(files) - {name}) for name, file in files.items()}
    sorter = TopologicalSorter(graph)
    try:
        sorter.prepare()
    except CycleError as error:
        raise DefinitionError(f"SQL files need each other in a circle: {' -> '.join(error.args[1])}") from error
    order: list[str] = []
    while sorter.is_active():
        ready = sorted(sorter.get_ready())
        order.extend(ready)
        sorter.done(*ready)
    return order


def fill(con: duckdb.DuckDBPyConnection, file: SqlFile) -> None:
    """One derived table's rows; the statement must give the columns that the file's head declares.

    DuckDB checks that while it binds the insert: a column that only the head has cannot be replaced, one that only the
    statement has finds no place in the table. To describe the statement first would bind it twice.
    """
    present = ", ".join(f"{name} as {name}" for name in (warehouse.quoted(column.name) for column in file.columns))
    try:
        made = f"select * replace ({present}) from (\n{file.body}\n)"  # lines of their own: it may end in a comment
        con.execute(f"insert into main.{warehouse.quoted(file.name)} by name {made}")
    except duckdb.Error as error:
        raise DefinitionError(str(error), f"derive/{file.path.name}") from error


def store(con: duckdb.DuckDBPyConnection, question: SqlFile) -> None:
    """One question as a view, or as a table macro with defaults if it takes parameters."""
    body = question.body
    if not question.params:
        con.execute(f"create view main.{question.name} as {body}")
        texts = [f"comment on view main.{question.name} is {warehouse.literal(question.purpose)}"]
        texts += [
            f"comment on column main.{question.name}.{warehouse.quoted(column.name)} is {warehouse.literal(column.doc)}"
            for column in question.columns
        ]
        con.execute("; ".join(texts))
        return
    for param in question.params:
        body = body.replace(f"${param.name}", param.name)
    con.execute(f"create macro main.{question.name}({_parameters(question, defaults=True)}) as table {body}")
    con.execute(f"comment on macro table main.{question.name} is {warehouse.literal(question.purpose)}")


def _parameters(file: SqlFile, *, defaults: bool = False) -> str:
    return ", ".join(f"{param.name} := {param.default}" if defaults else param.name for param in file.params)
