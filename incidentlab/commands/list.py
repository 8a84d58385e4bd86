"""List a table of the warehouse, or (without WHAT) the tables and questions there are.

incidentlab list
incidentlab list interruptions --limit 10
incidentlab list sources --where "status <> 'used'" --format csv
"""

from collections.abc import Iterator
from pathlib import Path

import click
import polars as pl

from incidentlab import answers, assets, formats, options, sqlfiles, warehouse
from incidentlab.errors import UsageError
from incidentlab.knowledge import KNOWLEDGE
from incidentlab.terminal import Talk

_MOST_IN_A_TABLE = 50

_FIRST = {
    "interruptions": ("interruption_id", "node", "confidence", "component", "job_id", "bucket", "ts"),
    "incidents": ("incident_id", "node", "confidence", "component", "interruption_count", "first_fault_ts"),
    "runs": ("name", "user_name", "attempts", "gpu_count", "first_start_ts", "last_end_ts"),
    "attempts": ("job_id", "name", "state", "node_count", "gpu_count", "start_ts", "end_ts"),
    "losses": ("interruption_id", "part"),
    "hypotheses": ("interruption_id", "rank", "component", "node", "rule"),
    "interruption_events": ("interruption_id", "role", "delta_s"),
    "events": ("ts", "node", "gpu_index", "signature", "component"),
    "episodes": ("node", "gpu_index", "signature", "component", "first_ts", "last_ts", "event_count"),
    "progress": ("ts", "kind", "step"),
    "node_states": ("node", "state"),
    "gpus": ("node", "gpu_index"),
    "sources": ("path", "status", "format", "lines", "matched_lines", "unparsed_lines", "channel", "host"),
    "coverage": ("node", "channel", "first_ts", "last_ts"),
    "exposure_daily": ("day", "node"),
}
"""The derived tables that people ask for, each with the columns that come first where there may be no room for all.

The other derived tables are steps on the way to these.
"""


@click.command
@click.argument("what", required=False)
@options.warehouse
@click.option("--where", default="true", help="SQL condition on the rows.")
@click.option("--sort", help="SQL order [default: by time].")
@click.option(
    "--limit",
    type=click.IntRange(0),
    help=f"Most rows to show; 0 is all [default: {_MOST_IN_A_TABLE} for --format table, else all].",
)
@options.output_format
@click.pass_obj
def command(
    talk: Talk,
    *,
    what: str | None,
    warehouse_path: Path,
    where: str,
    sort: str | None,
    limit: int | None,
    output_format: str,
) -> None:
    """Show the rows of table `what` that fit `where`, or what there is to list and to ask."""
    is_table = output_format == "table"
    if what is None:
        formats.show(_contents(warehouse_path), output_format)
        return
    most = limit if limit is not None else _MOST_IN_A_TABLE * is_table
    with warehouse.open_readonly(warehouse_path, boxed=True) as con:
        columns = _columns(con, what)
        order = ", ".join(filter(None, (sort, *map(warehouse.quoted, _by_time(columns)))))
        source = f"from {warehouse.quoted(what)} where ({where}\n)"
        rows = answers.select(con, f"select * {source} order by {order} {f'limit {most}' if most else ''}")
        total = answers.select(con, f"select count(*) {source}").item()
    first = _FIRST.get(what, ()) if is_table else ()
    formats.show(rows.select(*first, pl.exclude(first)), output_format)
    if rows.height < total:
        talk.say(f"showing {rows.height:,} of {total:,}; --limit 0 shows all")


def _columns(con: answers.Connection, table: str) -> list[str]:
    """The columns of a table; `UsageError` if there is none of that name."""
    tables = _rows_by_table(con)
    if table not in tables:
        raise UsageError(f"there is no table {table!r}; there are: {', '.join(tables)}")
    return answers.select(con, f"from {warehouse.quoted(table)} limit 0").columns


def _rows_by_table(con: answers.Connection) -> dict[str, int]:
    return dict(answers.select(con, _SIZES).rows())


_SIZES = """
    select table_name, estimated_size
    from duckdb_tables() where schema_name = 'main' and not temporary
    order by table_name
"""


def _contents(warehouse_path: Path) -> pl.DataFrame:
    """What there is to list and to ask, what is meant for people first; with counts if there is a warehouse."""
    counts = {}
    if warehouse_path.exists():
        with warehouse.open_readonly(warehouse_path) as con:
            counts = _rows_by_table(con)
    rows = [(name, kind, counts.get(name), about) for name, kind, about in _declared()]
    return pl.DataFrame(
        rows, schema={"name": pl.String, "kind": pl.String, "rows": pl.Int64, "about": pl.String}, orient="row"
    )


def _declared() -> Iterator[tuple[str, str, str]]:
    """Name, kind and meaning of each table and question."""
    derived = sqlfiles.read_folder(assets.folder("queries") / "derive")
    yield from ((name, "table", derived[name].purpose) for name in _FIRST)
    yield from ((query.name, "question", query.asks) for query in answers.load_queries().values())
    yield from ((table.name, "knowledge", table.doc) for table in KNOWLEDGE)
    yield from ((name, "step", file.purpose) for name, file in derived.items() if name not in _FIRST)


def _by_time(columns: list[str]) -> list[str]:
    """All columns, the first instant in front, so that the order is total."""
    return sorted(columns, key=lambda name: not (name == "ts" or name.endswith("_ts")))
