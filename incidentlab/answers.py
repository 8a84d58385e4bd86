"""Questions (`queries/*.sql`) and their answers as polars frames."""

import re
from collections.abc import Sequence
from datetime import date
from functools import cache
from itertools import count
from typing import Any

import duckdb
import polars as pl

from incidentlab import assets, sqlfiles
from incidentlab.errors import UsageError, WarehouseError

Connection = duckdb.DuckDBPyConnection
"""An open warehouse, for those who only hand it on."""

Query = sqlfiles.SqlFile
"""One question: its contract (title, parameters, columns) and its statement."""

_CHOSEN = re.compile(r"from table (\w+)$")
"""How a parameter's sentence says that the column of its name, in that table, holds the values to choose from."""

_A_DAY = {None: 1, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}
_DAYS = ((date(2, 1, 1) - date(1970, 1, 1)).days, (date(9998, 12, 31) - date(1970, 1, 1)).days)
_UNFRAMED = re.compile(r"INTERVAL|UNION|BIGNUM|BIT|TIME WITH TIME ZONE|VARIANT")


@cache
def load_queries() -> dict[str, Query]:
    """Every question by name, in alphabetical order."""
    return sqlfiles.read_folder(assets.folder("queries"))


def ask(con: duckdb.DuckDBPyConnection, name: str, **params: Any) -> pl.DataFrame:
    """The answer to question `name`, with the columns that its file declares.

    A parameter that is not given has the default of its file. Raises `UsageError` for a name or parameter that does
    not exist, a value that its type refuses or that is not among those that it is chosen from, and `WarehouseError`
    for a warehouse that lacks what the question reads.
    """
    query = _find(name)
    _refuse_unknown(query, params)
    values = {param.name: params.get(param.name, _default(con, param)) for param in query.params}
    try:
        for param in query.params:
            if param.name in params:
                _refuse_strange(con, param, params[param.name])
        return pl.DataFrame(con.sql(query.body, params=values))
    except duckdb.ConversionException as error:
        raise UsageError(f"a parameter of {name} has the wrong type: {_first_line(error)}", query.path.name) from error
    except duckdb.CatalogException as error:
        raise WarehouseError(f"{name} cannot be asked here: {_first_line(error)}", query.path.name) from error


def select(con: duckdb.DuckDBPyConnection, text: str) -> pl.DataFrame:
    """What a statement of the user selects; columns of types that a frame cannot hold come as text.

    A name that stands above several columns is numbered: a, a_2. Raises `UsageError` with DuckDB's own words for a
    statement that fails, and for one that selects nothing or is several.
    """
    try:
        text.encode()
        statements = con.extract_statements(text)
        if len(statements) > 1:
            raise UsageError(f"one statement at a time; these are {len(statements)}")
        relation = con.sql(statements[0]) if statements else None
        if relation is None:
            raise UsageError("the statement selects nothing")
        columns = list(zip(_told_apart(relation.columns), relation.types, strict=True))
        framed = [
            _framed(place, name, bool(_UNFRAMED.search(str(kind)))) for place, (name, kind) in enumerate(columns, 1)
        ]
        frame = pl.DataFrame(relation.project(", ".join(framed)))
        beyond = {name for name in frame.columns if _is_beyond(frame[name])}
        told = [_framed(place, name, name in beyond) for place, name in enumerate(frame.columns, 1)]
        return pl.DataFrame(relation.project(", ".join(told))) if beyond else frame
    except UnicodeEncodeError as error:
        raise UsageError("the statement is not UTF-8 text") from error
    except (duckdb.Error, pl.exceptions.PolarsError) as error:
        raise UsageError(str(error).strip()) from error


def _told_apart(names: Sequence[str]) -> list[str]:
    """The names, each once; numbers are given to repeats, whatever their case, and skip what is a name itself."""
    taken = {name.lower() for name in names}
    given: dict[str, str] = {}
    for name in names:
        numbered = (f"{name}_{number}" for number in count(2))
        fresh = next(new for new in numbered if new.lower() not in taken) if name.lower() in given else name
        given[fresh.lower()] = fresh
        taken.add(fresh.lower())
    return list(given.values())


def _is_beyond(column: pl.Series) -> bool:
    """Whether an instant of the column lies outside the years 2 to 9998: DuckDB's calendar is longer than Python's."""
    if column.dtype not in (pl.Date, pl.Datetime):
        return False
    days = column.to_physical() // _A_DAY[getattr(column.dtype, "time_unit", None)]
    return not days.drop_nulls().is_between(*_DAYS).all()


def _framed(place: int, name: str, is_told: bool) -> str:
    """The column at `place`, under a name that no other has, as a frame can hold it: some only as text."""
    cast = "::varchar" if is_told else ""
    quoted = name.replace('"', '""')
    return f'#{place}{cast} as "{quoted}"'


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


def _refuse_strange(con: duckdb.DuckDBPyConnection, param: sqlfiles.Param, value: Any) -> None:
    """Raise `UsageError` for a value that a parameter cannot have whose sentence ends in `from table NAME`."""
    if chosen := _CHOSEN.search(param.doc):
        known = [
            row[0] for row in con.execute(f"select distinct {param.name} from {chosen[1]} order by all").fetchall()
        ]
        if value not in known:
            raise UsageError(f"there is no {param.name} {value!r}; there are: {', '.join(known)}")


def _default(con: duckdb.DuckDBPyConnection, param: sqlfiles.Param) -> Any:
    [(value,)] = con.execute(f"select ({param.default})::{param.type}").fetchall()
    return value


def _first_line(error: duckdb.Error) -> str:
    return str(error).splitlines()[0]
