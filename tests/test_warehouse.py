"""The warehouse file: loading, publishing, refusing what is not ours."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from scipy.stats import chi2
from worlds import event, job, source

from incidentlab import derive, warehouse
from incidentlab.errors import WarehouseError
from incidentlab.manifest import KEPT, SPANS
from incidentlab.model import INTAKE, READINGS, SCHEMA_VERSION, SOURCES
from incidentlab.signatures import load_components
from incidentlab.spool import frame

START = datetime(2026, 3, 5, 1, 0)
END = datetime(2026, 3, 5, 3, 0)
KNOWLEDGE: Mapping[str, list[dict[str, Any]]] = {
    "components": load_components(),
    "signatures": [{"name": "gpu-lost", "channels": ["kernel"], "kind": "fault", "component": "gpu.device",
                    "strength": "direct", "severity": "fatal", "tier": 3, "scope": "gpu", "meaning": "A GPU is gone."}],
}  # fmt: skip


def shards(folder: Path, name: str, **rows: list[dict[str, Any]]) -> Path:
    """A folder of shards and manifest with one more unit's rows, as intake writes them; each source is a span."""
    sources = rows.get("sources", [])
    for table in INTAKE[1:]:
        given = rows.get(table.name, [])
        numbers = [[source["source_id"] for source in sources].index(row["source_id"]) for row in given]
        spans = pl.DataFrame({"unit": [name] * len(given), "span": numbers}, schema={"unit": str, "span": pl.Int32})
        (folder / table.name).mkdir(parents=True, exist_ok=True)
        written = pl.concat([spans, frame(table, given).drop("source_id")], how="horizontal")
        written.write_parquet(folder / table.name / f"{name}.parquet")
    identities = [{"path": source["path"], "source_id": source["source_id"]} for source in sources]
    spans = [{**row, "unit": name, "span": number, "add_lines": 0} for number, row in enumerate(identities)]
    for table, more in ((SOURCES, sources), (SPANS, spans), (KEPT, []), (READINGS, identities)):
        file = folder / f"{table.name}.parquet"
        pl.concat([*([pl.read_parquet(file)] if file.exists() else []), frame(table, more)]).write_parquet(file)
    return folder


def build(target: Path, folder: Path | None, rows: Mapping[str, Any] = KNOWLEDGE) -> None:
    """A warehouse from the shards of a folder, beside what it holds."""
    names = {table.name: sorted(map(str, (folder / table.name).glob("*"))) for table in INTAKE} if folder else {}
    derive.build(target, folder, names, rows, old=target if target.exists() else None)


def one_fault(folder: Path, path: str = "kern.log", line_no: int = 1) -> Path:
    """Shards of a kernel log with one lost GPU."""
    return shards(
        folder, f"{path}-{line_no}",
        sources=[source(f"k{line_no}", "kernel", [END], path=path)],
        events=[event(f"k{line_no}", line_no, "gpu-lost", END, node="n1")],
    )  # fmt: skip


def count(path: Path, table: str) -> int:
    """Rows of a table in the warehouse at `path`."""
    with warehouse.open_readonly(path) as con:
        return int(con.execute(f"select count(*) from {table}").fetchone()[0])


def test_a_build_publishes_tables_with_comments(tmp_path: Path):
    """Every column of every table and view in the file says what it holds."""
    build(tmp_path / "w.duckdb", one_fault(tmp_path / "s"))

    with warehouse.open_readonly(tmp_path / "w.duckdb") as con:
        silent = con.execute("""
            select table_name, column_name from duckdb_columns()
            where comment is null and database_name = 'w' and not internal
        """).fetchall()
        tables = con.execute("select count(*) from duckdb_tables() where comment is null").fetchone()
    assert ([], (0,)) == (silent, tables)


def test_the_file_is_readable_by_older_clients(tmp_path: Path):
    """The file is written in DuckDB's storage version 1.0."""
    build(tmp_path / "w.duckdb", None)

    with warehouse.open_readonly(tmp_path / "w.duckdb") as con:
        tags = con.execute("select tags from duckdb_databases() where database_name = 'w'").fetchone()[0]
    assert "v1.0.0" in str(tags)


def test_few_rows_make_what_many_threads_make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A small warehouse, which one thread builds with other settings, has the rows that the usual ones give."""
    settings = []
    monkeypatch.setattr(warehouse, "go_alone", lambda con, go=warehouse.go_alone: settings.append(go(con)))
    contents = []
    for limit in (derive.FEW_ROWS, 0):
        monkeypatch.setattr(derive, "FEW_ROWS", limit)
        build(tmp_path / f"{limit}.duckdb", one_fault(tmp_path / f"s{limit}"))
        with warehouse.open_readonly(tmp_path / f"{limit}.duckdb") as con:
            tables = con.execute("select schema_name, table_name from duckdb_tables() order by all").fetchall()
            contents.append({names: con.execute("from {}.{}".format(*names)).fetchall() for names in tables})

    assert 1 == len(settings)
    assert len(contents[0][("main", "events")]) == 1
    assert contents[0] == contents[1]


def test_a_build_takes_two_gigabytes_and_then_the_disk(tmp_path: Path):
    """However many events there are, the rest of the machine's memory stays free."""
    with warehouse.publishing(tmp_path / "w.duckdb", None, None) as con:
        [[limit]] = con.execute("select current_setting('memory_limit')").fetchall()
    assert limit == "1.8 GiB"


def test_nothing_is_logged_beside_a_file_that_is_thrown_away_when_unfinished(tmp_path: Path):
    """What is committed on the way to a new warehouse is written once, into that file alone."""
    with warehouse.publishing(tmp_path / "w.duckdb", None, None) as con:
        con.execute("create table rows as from range(1000)")
        beside = [path.name for path in tmp_path.rglob("*") if path.is_file()]

    assert ["fresh.duckdb"] == beside
    with duckdb.connect(str(tmp_path / "w.duckdb"), read_only=True) as con:
        assert (1000,) == con.execute("select count(*) from rows").fetchone()


def test_ingesting_twice_adds_nothing(tmp_path: Path):
    """The same shards again leave the same rows."""
    target = tmp_path / "w.duckdb"
    folder = one_fault(tmp_path / "s")
    build(target, folder)
    build(target, folder)

    assert (1, 1, 1) == (count(target, "sources"), count(target, "events"), count(target, "intake.events"))


def test_later_logs_come_beside_earlier_ones(tmp_path: Path):
    """A second build keeps what the first one read."""
    target = tmp_path / "w.duckdb"
    build(target, one_fault(tmp_path / "a", "a.log", 1))
    build(target, one_fault(tmp_path / "b", "b.log", 2))

    assert (2, 2) == (count(target, "sources"), count(target, "events"))


def test_another_days_file_of_the_same_name_comes_beside_it(tmp_path: Path):
    """A rotated file has the path of the one before it and another beginning: both count."""
    target = tmp_path / "w.duckdb"
    build(target, one_fault(tmp_path / "a", "kern.log", 1))
    later = shards(
        tmp_path / "b",
        "kern.log",
        sources=[source("k2", "kernel", [END + timedelta(days=1)], path="kern.log")],
        events=[event("k2", 1, "gpu-lost", END + timedelta(days=1), node="n1")],
    )
    build(target, later)

    assert (2, 2) == (count(target, "sources"), count(target, "events"))


def test_one_content_under_two_paths_counts_once(tmp_path: Path):
    """The copy is listed as unused, and says where the same content was read."""
    folder = tmp_path / "s"
    for path in ("a.log", "b.log"):
        shards(
            folder, path, sources=[source("k1", "kernel", [END], path=path)], events=[event("k1", 1, "gpu-lost", END)]
        )
    build(tmp_path / "w.duckdb", folder)

    with warehouse.open_readonly(tmp_path / "w.duckdb") as con:
        rows = con.execute("select path, status, reason from sources").fetchall()
        events = con.execute("select count(*) from events").fetchone()
    assert [("a.log", "used", None), ("b.log", "unused", "same content as a.log")] == rows
    assert (1,) == events


def test_the_order_of_shards_changes_nothing(tmp_path: Path):
    """Two units in either order of names give the same rows."""
    rows = {"sources": [source("acct", "accounting", [START, END])],
            "job_records": [job("acct", 1, "7", "FAILED", start_ts=START, end_ts=END)]}  # fmt: skip
    answers = []
    for place, names in enumerate((("x", "y"), ("y", "x"))):
        folder = tmp_path / str(place)
        shards(folder, names[0], **rows)
        shards(
            folder,
            names[1],
            sources=[source("k1", "kernel", [END])],
            events=[event("k1", 1, "gpu-lost", END, node="n1")],
        )
        build(folder / "w.duckdb", folder)
        with warehouse.open_readonly(folder / "w.duckdb") as con:
            answers.append(
                [con.execute(f"from {table}").fetchall() for table in ("events", "attempts", "hypotheses", "sources")]
            )

    assert answers[0] == answers[1]


def test_a_failed_build_leaves_the_old_warehouse(tmp_path: Path):
    """When a build breaks off, the published file is as before and nothing lies beside it."""
    target = tmp_path / "w.duckdb"
    build(target, one_fault(tmp_path / "s"))
    before = target.read_bytes()
    with pytest.raises(duckdb.Error):
        build(target, None, {"signatures": [{"name": "x", "tier": "high"}]})

    assert before == target.read_bytes()
    assert ["s", "w.duckdb"] == sorted(path.name for path in tmp_path.iterdir())


def test_a_reader_keeps_its_view_during_a_publish(tmp_path: Path):
    """A connection that was open before a publish goes on reading the old file."""
    target = tmp_path / "w.duckdb"
    build(target, one_fault(tmp_path / "a", "a.log", 1))
    with warehouse.open_readonly(target) as con:
        build(target, one_fault(tmp_path / "b", "b.log", 2))
        seen = con.execute("select count(*) from events").fetchone()

    assert (1,) == seen
    assert 2 == count(target, "events")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda _: None, "there is no warehouse"),
        (lambda path: path.write_bytes(b"SQLite format 3\0" + bytes(4096)), "not a DuckDB file"),
        (lambda path: duckdb.connect(str(path)).close(), "not a warehouse of incidentlab"),
    ],
)
def test_what_is_not_ours_is_refused(tmp_path: Path, make: Any, words: str):
    """A missing, foreign or empty file is one clear error that names it."""
    path = tmp_path / "w.duckdb"
    make(path)

    with pytest.raises(WarehouseError, match=words) as caught:
        warehouse.open_readonly(path)
    assert str(path) in str(caught.value)


def test_a_damaged_file_is_not_blamed_on_another_process():
    """A damaged block is no lock."""
    said = warehouse._reason(duckdb.IOException("Corrupt database file: checksum of block 3 does not match"))
    assert "another process" not in said


def test_another_schema_version_is_refused_by_number(tmp_path: Path):
    """A warehouse of a later version says so instead of giving wrong answers."""
    path = tmp_path / "w.duckdb"
    with duckdb.connect(str(path)) as con:
        con.execute(f"create table meta as select 'schema_version' as key, '{SCHEMA_VERSION + 1}' as value")

    with pytest.raises(WarehouseError, match=f"schema version {SCHEMA_VERSION + 1}"):
        warehouse.open_readonly(path)


def test_boxed_sql_reads_no_files(tmp_path: Path):
    """SQL from users cannot reach the file system or change settings."""
    build(tmp_path / "w.duckdb", None)

    with warehouse.open_readonly(tmp_path / "w.duckdb", boxed=True) as con:
        for text in (
            "select * from read_text('/etc/hostname')",
            "set memory_limit = '1GB'",
            "create table t as select 1",
        ):
            with pytest.raises(duckdb.Error):
                con.execute(text)


def test_poisson_limits_are_exact(tmp_path: Path):
    """Limits of 419, 47, 6 and 0 events as published tables give them (Garwood 1936)."""
    build(tmp_path / "w.duckdb", None)

    with warehouse.open_readonly(tmp_path / "w.duckdb") as con:
        rows = con.execute("""
            select round(poisson_lo(n), 3), round(poisson_hi(n), 3) from (values (419), (47), (0)) as t (n)
        """).fetchall()
        byar = con.execute("select poisson_lo(n), poisson_hi(n) from (values (5000)) as t (n)").fetchone()
    assert [(379.836, 461.106), (34.534, 62.5), (0.0, 3.689)] == rows
    # 5,000 events: sqrt(n) rule gives 4,861 and 5,139; the exact limits lie within half an event of it, shifted by one
    assert byar == (pytest.approx(4862.36, abs=0.05), pytest.approx(5140.53, abs=0.05))


def test_the_shipped_poisson_limits_are_those_of_scipy():
    """Each limit of the file is the chi-square quantile that Garwood gives, to the twelfth digit."""
    rows = [(int(row["events"]), float(row["lo"]), float(row["hi"])) for row in derive.poisson_limits()]
    events = [row[0] for row in rows]

    assert list(range(2001)) == events
    assert [0.0, *chi2.ppf(0.025, [2 * n for n in events[1:]]) / 2] == pytest.approx(
        [row[1] for row in rows], rel=1e-12
    )
    assert list(chi2.ppf(0.975, [2 * n + 2 for n in events]) / 2) == pytest.approx([row[2] for row in rows], rel=1e-12)


def test_wilson_limits_are_those_of_the_textbook(tmp_path: Path):
    """72 of 419 is 13.9 to 21.1 %, none of ten is 0 to 27.8 %."""
    build(tmp_path / "w.duckdb", None)

    with warehouse.open_readonly(tmp_path / "w.duckdb") as con:
        row = con.execute("""
            select round(100 * wilson_lo(72, 419), 1), round(100 * wilson_hi(72, 419), 1), wilson_lo(0, 10),
                round(100 * wilson_hi(0, 10), 1)
        """).fetchone()
    assert (13.9, 21.1, 0.0, 27.8) == row
