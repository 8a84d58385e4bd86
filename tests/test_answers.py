"""Questions are asked by name and parameter, and every wrong way to ask is explained."""

from datetime import datetime

import duckdb
import polars as pl
import pytest
from small_warehouse import known_warehouse, small_warehouse

from incidentlab import answers
from incidentlab.errors import UsageError, WarehouseError


@pytest.fixture(scope="module")
def con() -> duckdb.DuckDBPyConnection:
    """The warehouse of two runs and eleven interruptions."""
    return small_warehouse()


def test_an_answer_is_a_frame_of_the_declared_columns(con: duckdb.DuckDBPyConnection) -> None:
    """The frame has the columns that the file declares, in their order."""
    frame = answers.ask(con, "weekly")
    assert isinstance(frame, pl.DataFrame)
    assert frame.columns == [column.name for column in answers.load_queries()["weekly"].columns]


def test_a_parameter_has_the_default_of_its_file(con: duckdb.DuckDBPyConnection) -> None:
    """Without a fleet the comparison is with Llama 3; with one, with that."""
    assert answers.ask(con, "reconcile").equals(answers.ask(con, "reconcile", baseline="llama3"))
    assert answers.ask(con, "reconcile", baseline="byterobust").height == 18


def test_parameters_are_values_not_text(con: duckdb.DuckDBPyConnection) -> None:
    """A parameter that looks like SQL is just a fleet that does not exist; the error names those that do."""
    with pytest.raises(UsageError, match=r"there is no baseline .*; there are: byterobust, crusoe, llama3$"):
        answers.ask(con, "reconcile", baseline="llama3' or true --")


def test_an_unknown_question_lists_those_that_exist(con: duckdb.DuckDBPyConnection) -> None:
    """The error names the wrong question and the right ones."""
    with pytest.raises(UsageError, match=r"no question is called 'lost'; there are: .*headline.*weekly"):
        answers.ask(con, "lost")


def test_an_unknown_parameter_lists_those_that_exist(con: duckdb.DuckDBPyConnection) -> None:
    """The error names the wrong parameter and the right ones."""
    with pytest.raises(UsageError, match="reconcile has no parameter fleet, since; it has: baseline"):
        answers.ask(con, "reconcile", since=1, fleet="x")
    with pytest.raises(UsageError, match="weekly has no parameter fleet; it has: none"):
        answers.ask(con, "weekly", fleet="x")


def test_a_parameter_of_a_wrong_type_is_explained(con: duckdb.DuckDBPyConnection) -> None:
    """A line number that is no number is the user's mistake, not a crash."""
    with pytest.raises(UsageError, match="line_fate has the wrong type"):
        answers.ask(con, "line_fate", of_line="first")


def test_a_warehouse_without_the_tables_is_explained() -> None:
    """A database of another program has no table to ask."""
    with pytest.raises(WarehouseError, match="headline cannot be asked here"):
        answers.ask(duckdb.connect(":memory:"), "headline")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("date '5000000-01-01'", "5000000-01-01"),
        ("timestamp 'infinity'", "infinity"),
        ("timestamptz '0001-01-01 00:00Z' - interval 2 day", "0001-12-30 (BC) 00:00:00+00"),
        ("timestamp_ns '2026-03-05 01:00'", datetime(2026, 3, 5, 1)),
    ],
)
def test_times_beyond_a_calendar_are_words(value: str, shown: object) -> None:
    """What lies before year 2 or after 9998 comes as DuckDB writes it, and other times as times."""
    con = duckdb.connect()
    con.execute("set TimeZone = 'UTC'")

    assert answers.select(con, f"select {value} as at").rows() == [(shown,)]


def test_a_connection_stays_usable_after_an_answer() -> None:
    """No result is left open: the next statement runs."""
    con = known_warehouse()
    answers.ask(con, "baseline_comparison")
    assert con.sql("select 1").fetchall() == [(1,)]
