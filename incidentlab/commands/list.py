"""List a table of the warehouse, or (without WHAT) the tables and questions there are.

incidentlab list
incidentlab list interruptions --limit 10
incidentlab list sources --where "status <> 'used'" --format csv
"""

from pathlib import Path

import click
import polars as pl

from incidentlab import answers, formats, options, warehouse
from incidentlab.errors import UsageError
from incidentlab.terminal import Talk

_CONTENTS = """
    select table_name as name, 'table' as kind, estimated_size as rows, comment as about
    from duckdb_tables() where schema_name = 'main' and not temporary
    order by name
"""


@click.command
@click.argument("what", required=False)
@options.warehouse
@click.option("--where", default="true", help="SQL condition on the rows.")
@click.option("--sort", help="SQL order [default: by time].")
@click.option("--limit", type=click.IntRange(0), default=50, show_default=True, help="Most rows to show; 0 is all.")
@options.output_format
@click.pass_obj
def command(
    talk: Talk, *, what: str | None, warehouse_path: Path, where: str, sort: str | None, limit: int, output_format: str
) -> None:
    """Show the rows of table `what` that fit `where`, or the contents of the warehouse."""
    with warehouse.open_readonly(warehouse_path, boxed=True) as con:
        tables = answers.select(con, _CONTENTS)
        if what is None:
            formats.show(pl.concat([tables, _questions()]), output_format)
            return
        if what not in tables["name"]:
            raise UsageError(f"there is no table {what!r}; there are: {', '.join(tables['name'])}")
        columns = answers.select(con, f"from {warehouse.quoted(what)} limit 0").columns
        order = ", ".join(filter(None, (sort, *map(warehouse.quoted, _by_time(columns)))))
        source = f"from {warehouse.quoted(what)} where ({where}\n)"
        most = f"limit {limit}" if limit else ""
        rows = answers.select(con, f"select * {source} order by {order} {most}")
        total = answers.select(con, f"select count(*) {source}").item()
    formats.show(rows, output_format)
    if rows.height < total:
        talk.say(f"showing {rows.height:,} of {total:,}; --limit 0 shows all")


def _questions() -> pl.DataFrame:
    """The questions in the shape of the list of tables."""
    queries = answers.load_queries().values()
    rows = [(query.name, "question", None, query.asks) for query in queries]
    return pl.DataFrame(
        rows, schema={"name": pl.String, "kind": pl.String, "rows": pl.Int64, "about": pl.String}, orient="row"
    )


def _by_time(columns: list[str]) -> list[str]:
    """All columns, the first instant in front, so that the order is total."""
    return sorted(columns, key=lambda name: not (name == "ts" or name.endswith("_ts")))
