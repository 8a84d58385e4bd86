"""Questions (`queries/*.sql`) and their answers as polars frames."""

import re
from functools import cache
from typing import Any

import duckdb
import polars as pl

from incidentlab import assets, sqlfiles
from incidentlab.errors import UsageError, WarehouseError

Connection = duckdb.DuckDBPyConnection
"""An open warehouse, for those who only hand it on."""

Query = sqlfiles.SqlFile
"""One question: its contract (title, parameters, columns) and its statement."""

_UNFRAMED = re.compile(r"INTERVAL|UNION|BIGNUM|BIT|TIME WITH TIME ZONE|VARIANT")


@cache
def load_queries() -> dict[str, Query]:
    """Every question by name, in alphabetical order."""
    return sqlfiles.read_folder(assets.folder("queries"))


def ask(con: duckdb.DuckDBPyConnection, name: str, **params: Any) -> pl.DataFrame:
    """The answer to question `name`, with the columns that its file declares.

    A parameter that is not given has the default of its file. Raises `UsageError` for a name or parameter that does
    not exist or a value that its type refuses, `WarehouseError` for a warehouse that lacks what the question reads.
    """
    query = _find(name)
    _refuse_unknown(query, params)
    values = {param.name: params.get(param.name, _default(con, param)) for param in query.params}
    try:
        return pl.DataFrame(con.sql(query.body, params=values))
    except duckdb.ConversionException as error:
        raise UsageError(f"a parameter of {name} has the wrong type: {_first_line(error)}", query.path.name) from error
    except duckdb.CatalogException as error:
        raise WarehouseError(f"{name} cannot be asked here: {_first_line(error)}", query.path.name) from error


def select(con: duckdb.DuckDBPyConnection, text: str) -> pl.DataFrame:
    """What a statement of the user selects; columns of types that a frame cannot hold come as text.

    Raises `UsageError` with DuckDB's own words for a statement that fails, and for one that selects nothing.
    """
    try:
        relation = con.sql(text)
        if relation is None:
            raise UsageError("the statement selects nothing")
        return pl.DataFrame(relation.select(*map(_framed, relation.columns, relation.types)))
    except (duckdb.Error, pl.exceptions.PolarsError) as error:
        raise UsageError(str(error).strip()) from error


def _framed(name: str, kind: Any) -> duckdb.Expression:
    column = duckdb.ColumnExpression(name)
    return column.cast("VARCHAR").alias(name) if _UNFRAMED.search(str(kind)) else column


def _find(name: str) -> Query:
    queries = load_queries()
    if name not in queries:
        raise UsageError(f"no question is called {name!r}; there are: {', '.join(queries)}")
    return queries[name]


def _refuse_unknown(query: Query, params: dict[str, Any]) -> None:
    known = [param.name for param in query.params]
    unknown = sorted(set(params).difference(known))
    if unknown:
        raise UsageError(f"{query.name} has no parameter {', '.join(unknown)}; it has: {', '.join(known) or 'none'}")


def _default(con: duckdb.DuckDBPyConnection, param: sqlfiles.Param) -> Any:
    [(value,)] = con.execute(f"select ({param.default})::{param.type}").fetchall()
    return value


def _first_line(error: duckdb.Error) -> str:
    return str(error).splitlines()[0]
