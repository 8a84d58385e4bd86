"""Published fleets are as printed, their faults are found, and the comparison with them counts right."""

import math

import duckdb
import polars as pl
import pytest
from small_warehouse import empty_warehouse, known_warehouse, small_warehouse

from incidentlab import answers, baselines


@pytest.fixture(scope="module")
def con() -> duckdb.DuckDBPyConnection:
    """The warehouse of two runs and eleven interruptions."""
    return small_warehouse()


def published(counts: list[int | None], percents: list[float | None]) -> pl.DataFrame:
    """What `reconcile` says of a table with these two columns."""
    con = empty_warehouse(
        baseline_causes=[
            {
                "baseline": "x",
                "row_no": place,
                "label": f"row {place}",
                "count_printed": count,
                "percent_printed": percent,
            }
            for place, (count, percent) in enumerate(zip(counts, percents, strict=True), 1)
        ]
    )
    return answers.ask(con, "reconcile", baseline="x")


def test_reconcile_finds_the_gap_of_llama3() -> None:
    """148 prints as 35.3 %; 30.1 % is 126; the other 17 rows agree: 22 events too many, and no row else."""
    frame = answers.ask(known_warehouse(), "reconcile")
    differing = frame.filter(pl.col("difference") != 0)
    assert differing.select("label", "implied_count", "difference", "verdict").rows() == [
        ("Sum of the rows", 397, 22, "disagrees"),
        ("Faulty GPU", 126, 22, "disagrees"),
    ]
    assert frame["verdict"].to_list().count("agrees") == 17
    assert math.isclose(frame["percent_printed"][0], 94.9)


@pytest.mark.parametrize(
    ("counts", "decimals"), [([1, 2, 3, 4], 0), ([126, 72, 48, 173], 1), ([7, 11, 13], 2), ([1, 1, 1], 1), ([5], 0)]
)
def test_reconcile_is_silent_on_consistent_tables(counts: list[int], decimals: int) -> None:
    """Percentages that were rounded from their own counts agree, to whatever places."""
    percents = [round(100 * count / sum(counts), decimals) for count in counts]
    assert set(published(counts, percents)["verdict"]) == {"agrees"}


def test_reconcile_tells_untestable_from_wrong() -> None:
    """A row without a count cannot be tested, and no count of 7 prints as 99.9 %."""
    assert published([None, 7], [50.0, 99.9])["verdict"].to_list() == ["untestable", "untestable", "impossible"]


def test_comparison_counts_each_interruption_once(con: duckdb.DuckDBPyConnection) -> None:
    """Every fleet's rows and the rows it lacks hold all nine; Llama 3's disputed row says so."""
    for baseline in ("llama3", "byterobust", "crusoe"):
        assert answers.ask(con, "baseline_comparison", baseline=baseline)["interruptions"].sum() == 9
    disputed = answers.ask(con, "baseline_comparison").filter("is_disputed").row(0, named=True)
    assert (disputed["label"], disputed["baseline_count_lo"], disputed["baseline_count_hi"]) == ("Faulty GPU", 126, 148)
    assert disputed["baseline_per_1000_gpu_days"] == pytest.approx(148 / 21_233_664 * 24_000)


def test_a_row_that_nothing_own_answers_to_is_unknown(con: duckdb.DuckDBPyConnection) -> None:
    """A published row without a component of ours has NULL, one with a component that never failed has 0."""
    rows = {
        row["label"]: row["interruptions"]
        for row in answers.ask(con, "baseline_comparison", baseline="byterobust").to_dicts()
    }
    assert (rows["CUDA Error"], rows["Disk Fault"], rows["GPU Memory Error"]) == (None, 0, 2)


def test_published_fleets_are_whole() -> None:
    """Every table of causes belongs to a fleet, numbers its rows from 1, and gives no component to two rows."""
    fleets = {row["baseline"] for row in baselines.load_baselines()}
    causes = baselines.load_causes()
    assert {row["baseline"] for row in causes} <= fleets
    for fleet in fleets:
        rows = [row for row in causes if row["baseline"] == fleet]
        components = [row["component"] for row in rows if row["component"]]
        assert [int(row["row_no"]) for row in rows] == list(range(1, len(rows) + 1))
        assert len(components) == len(set(components))


def test_published_llama3_table_is_as_printed() -> None:
    """18 rows whose counts close to 419 and whose percentages close to 94.9."""
    rows = [row for row in baselines.load_causes() if row["baseline"] == "llama3"]
    assert len(rows) == 18
    assert sum(int(row["count_printed"]) for row in rows) == 419
    assert math.isclose(sum(float(row["percent_printed"]) for row in rows), 94.9)


def test_the_comparison_names_its_fleet(con: duckdb.DuckDBPyConnection) -> None:
    """Each row carries the label of the fleet that was asked for, those that its table lacks too."""
    frame = answers.ask(con, "baseline_comparison", baseline="crusoe")
    assert frame["baseline_label"].unique().to_list() == ["Crusoe (H200)"]
