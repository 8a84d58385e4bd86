"""Every question keeps its contract, and its figures are those that one works out by hand."""

import re
from datetime import date, datetime
from pathlib import Path

import duckdb
import polars as pl
import polars.selectors as cs
import pytest
from polars.testing import assert_frame_equal
from small_warehouse import empty_warehouse, known_warehouse, small_warehouse

from incidentlab import answers

QUERIES = answers.load_queries()
README = Path(__file__).parents[1] / "queries" / "README.md"


@pytest.fixture(scope="module")
def con() -> duckdb.DuckDBPyConnection:
    """The warehouse of two runs and eleven interruptions."""
    return small_warehouse()


def campaign(unplanned: int, days: int, gpu_count: int, planned: int = 0) -> duckdb.DuckDBPyConnection:
    """One run that holds all GPUs for all days, with interruptions of one component."""
    con = known_warehouse()
    con.execute(f"""
        insert into attempts (attempt_id, run_id, start_ts, end_ts, gpu_count)
        values ('a', 'r', '2026-01-01 00:00Z', timestamptz '2026-01-01 00:00Z' + to_days({days}), {gpu_count});
        insert into exposure_daily (day, node, gpu_count, allocated_gpu_h)
        select day::date, 'n1', {gpu_count}, {gpu_count * 24}
        from range(date '2026-01-01', date '2026-01-01' + {days}, interval 1 day) as days (day);
        insert into interruptions (interruption_id, attempt_id, ts, bucket, component, confidence)
        select 'i' || n, 'a', timestamptz '2026-01-01 00:00Z' + to_minutes(n),
            if(n < {unplanned}, 'unplanned', 'planned'), if(n < {unplanned}, 'gpu.hbm', null), 'suspected'
        from range({unplanned + planned}) as numbers (n);
    """)
    return con


@pytest.mark.parametrize("name", QUERIES)
def test_columns_and_parameters_are_as_declared(con: duckdb.DuckDBPyConnection, name: str) -> None:
    """The statement gives the columns and types of its head and uses the parameters of its head."""
    query = QUERIES[name]
    (statement,) = duckdb.extract_statements(query.body)
    assert set(statement.named_parameters) == {param.name for param in query.params}
    described = con.execute(f"describe {query.body}", dict.fromkeys(statement.named_parameters)).fetchall()
    types = {
        column.type: con.execute(f"select typeof(null::{column.type})").fetchall()[0][0] for column in query.columns
    }
    assert [(row[0], row[1]) for row in described] == [(column.name, types[column.type]) for column in query.columns]
    assert not any("INTERVAL" in column.type for column in query.columns)


@pytest.mark.parametrize("name", QUERIES)
def test_a_question_ends_in_an_order(name: str) -> None:
    """The last clause of the statement orders the rows."""
    assert re.search(r"\norder by [^()]+\Z", QUERIES[name].body)


@pytest.mark.parametrize("name", QUERIES)
def test_the_order_of_an_answer_is_total(con: duckdb.DuckDBPyConnection, name: str) -> None:
    """Asked again on one thread, on many, and of rows inserted backwards, the answer is the same."""
    first = answers.ask(con, name)
    assert first.equals(answers.ask(con, name))
    backwards = small_warehouse()
    for table in (
        "interruptions",
        "attempts",
        "events",
        "episodes",
        "exposure_daily",
        "hypotheses",
        "interruption_events",
    ):
        backwards.execute(f"create temp table kept as from {table}")
        backwards.execute(f"delete from {table}")
        backwards.execute(f"insert into {table} from kept order by hash(kept) desc")
        backwards.execute("drop table kept")
    backwards.execute("set threads = 1")
    assert first.equals(answers.ask(backwards, name))


@pytest.mark.parametrize("make", [empty_warehouse, known_warehouse])
@pytest.mark.parametrize("name", QUERIES)
def test_a_question_can_be_asked_of_nothing(name: str, make: type) -> None:
    """Without a usable log each question still has an answer, and no rate or share in it is a number."""
    frame = answers.ask(make(), name)
    measured = [column for column in frame.columns if re.search(r"^(mtti_h|share|per_1000|lost_gpu_h)", column)]
    assert all(frame[column].is_null().all() for column in measured)


@pytest.mark.parametrize("name", QUERIES)
def test_the_zone_of_the_client_changes_nothing(name: str) -> None:
    """Asked from a client in another zone, on either side of UTC, a question has the same answer."""
    con = small_warehouse()
    # Late on the day of the first interruption, which in Los Angeles and Auckland has another midnight.
    con.execute("update coverage set first_ts = '2026-03-03 20:00Z', last_ts = '2026-03-03 20:00Z'")
    seen = []
    for zone in ("UTC", "Pacific/Auckland", "America/Los_Angeles"):
        con.execute(f"set TimeZone = '{zone}'")
        seen.append(answers.ask(con, name).with_columns(cs.datetime(time_zone="*").dt.convert_time_zone("UTC")))
    assert_frame_equal(seen[0], seen[1])
    assert_frame_equal(seen[0], seen[2])


def test_nothing_known_is_not_zero_interruptions() -> None:
    """Without any attempt the headline does not say that nothing was interrupted."""
    assert answers.ask(known_warehouse(), "headline").row(0, named=True)["interruptions"] is None


def test_the_readme_lists_the_questions(request: pytest.FixtureRequest) -> None:
    """queries/README.md says of each question what it asks, takes and gives; `--accept` writes it again."""
    lines = [
        "# Questions",
        "",
        "Each is a file here, a view or macro in the warehouse, and `incidentlab query NAME`.",
        "",
    ]
    for query in QUERIES.values():
        lines += [f"## {query.name}", "", f"{query.purpose}: {query.asks}", ""]
        lines += [f"- parameter `{param.name}` (default {param.default}): {param.doc}" for param in query.params]
        lines += [f"- `{column.name}` {column.type.lower()}: {column.doc}" for column in query.columns] + [""]
    text = "\n".join(lines)
    if request.config.getoption("--accept"):
        README.write_text(text, encoding="utf-8")
    assert README.read_text(encoding="utf-8") == text


def test_headline_of_the_story(con: duckdb.DuckDBPyConnection) -> None:
    """14 days, 9 of 11 interruptions unplanned: 336 h / 9 = 37.3 h; 9 in 472 GPU-days; one loss is only bounded."""
    row = answers.ask(con, "headline").row(0, named=True)
    expected = {
        "window_days": 14.0,
        "runs": 2,
        "attempts": 12,
        "nodes": 5,
        "gpu_count": 40,
        "interruptions": 11,
        "unplanned": 9,
        "planned": 1,
        "policy": 1,
        "confirmed": 4,
        "suspected": 3,
        "unattributed": 2,
        "gpu_days": 472.0,
        "lost_gpu_h": None,
        "lost_gpu_h_lo": 116.0,
        "lost_gpu_h_hi": 212.0,
        "lost_grade": "C",
        "top_label": "Faulty GPU",
        "top_interruptions": 2,
        "sources_used": 3,
        "sources_failed": 1,
        "unparsed_lines": 1,
    }
    assert {name: row[name] for name in expected} == expected
    assert row["mtti_h"] == pytest.approx(336 / 9)
    assert row["per_1000_gpu_days"] == pytest.approx(9000 / 472)


def test_llama3_rates_are_reproduced() -> None:
    """419 unplanned in 1,296 h on 16,384 GPUs: MTTI 3.09 h (2.81-3.41), 0.474 (0.429-0.521) per 1,000 GPU-days."""
    row = answers.ask(campaign(419, 54, 16_384, planned=47), "headline").row(0, named=True)
    assert [round(row[name], 2) for name in ("mtti_h", "mtti_h_lo", "mtti_h_hi")] == [3.09, 2.81, 3.41]
    rates = ("per_1000_gpu_days", "per_1000_gpu_days_lo", "per_1000_gpu_days_hi")
    assert [round(row[name], 3) for name in rates] == [0.474, 0.429, 0.521]


def test_mtti_names_its_basis() -> None:
    """Of 466 interruptions in all, 2.78 h (2.54-3.05); wall and running hours are the same for a run without gaps."""
    frame = answers.ask(campaign(419, 54, 16_384, planned=47), "mtti")
    rows = {row["basis"]: row for row in frame.to_dicts()}
    assert set(rows) == {"running/unplanned", "wall/unplanned", "running/all", "wall/all"}
    both = rows["wall/all"]
    assert [round(both[name], 3) for name in ("mtti_h", "mtti_h_lo", "mtti_h_hi")] == [2.781, 2.540, 3.052]
    assert rows["running/all"]["hours"] == both["hours"] == 1296


def test_mtti_without_an_interruption_has_only_a_lower_limit() -> None:
    """No event in 240 h: at least 240 / 3.689 = 65.1 h, and no estimate."""
    row = answers.ask(campaign(0, 10, 8), "mtti").row(0, named=True)
    assert (row["interruptions"], row["mtti_h"], row["mtti_h_hi"]) == (0, None, None)
    assert round(row["mtti_h_lo"], 1) == 65.1


def test_breakdown_folds_rows_and_adds_up(con: duckdb.DuckDBPyConnection) -> None:
    """NVLink joins Faulty GPU as in Table 5; all rows together are the nine unplanned interruptions."""
    frame = answers.ask(con, "root_cause_breakdown")
    assert frame["interruptions"].sum() == frame["total"][0] == 9
    faulty = frame.filter(pl.col("label") == "Faulty GPU").row(0, named=True)
    assert (faulty["component"], faulty["interruptions"], faulty["lost_gpu_h"]) == ("gpu.device", 2, 30.0)
    # (2 + 1.9207 -+ 1.96 * sqrt(2 * 7 / 9 + 0.9604)) / 12.8415
    assert faulty["share_lo_pct"] == pytest.approx(6.32, abs=0.01)
    assert faulty["share_hi_pct"] == pytest.approx(54.74, abs=0.01)


def test_categories_add_up(con: duckdb.DuckDBPyConnection) -> None:
    """GPU holds four of nine and names its rows with their counts."""
    frame = answers.ask(con, "root_cause_by_category")
    assert frame["interruptions"].sum() == 9
    gpu = frame.row(0, named=True)
    assert (gpu["category"], gpu["interruptions"]) == ("GPU", 4)
    assert gpu["components"] == "Faulty GPU 2, GPU HBM3 Memory 2"
    assert gpu["share_pct"] == pytest.approx(400 / 9)


def test_a_category_keeps_the_loss_that_is_known() -> None:
    """One loss of 8.5 and one of at least 2 are at least 10.5, without a sum or an upper bound."""
    con = small_warehouse()
    con.execute("""
        delete from interruptions where interruption_id not in ('i1', 'i2');
        update interruptions set bucket = 'unplanned', component = 'gpu.device',
            lost_gpu_h = 8.5, lost_gpu_h_lo = 8.5, lost_gpu_h_hi = 8.5;
        update interruptions set lost_gpu_h = null, lost_gpu_h_lo = 2, lost_gpu_h_hi = null
        where interruption_id = 'i2';
    """)
    row = answers.ask(con, "root_cause_by_category").select("^lost_gpu_h.*$").row(0)

    assert row == (None, 10.5, None)


def test_the_timeline_shows_file_and_line(con: duckdb.DuckDBPyConnection) -> None:
    """Every interruption has a row; the first one points at its trigger."""
    frame = answers.ask(con, "interruption_timeline")
    assert frame.height == 11
    assert frame["ts"].is_sorted()
    assert frame.filter(interruption_id="i1")["evidence"].item() == "logs/messages-gpu-a01:120"


def test_weeks_hold_all_interruptions_and_hours(con: duckdb.DuckDBPyConnection) -> None:
    """Two weeks from Monday 2 March; their sums are the headline's."""
    frame = answers.ask(con, "weekly")
    headline = answers.ask(con, "headline").row(0, named=True)
    assert frame["week_start"].to_list() == [date(2026, 3, 2), date(2026, 3, 9)]
    assert frame["unplanned"].to_list() == [5, 4]
    assert frame["running_h"].sum() == pytest.approx(headline["running_h"])
    assert frame["gpu_days"].sum() == pytest.approx(472)


def test_a_loss_without_an_upper_bound_has_none_in_the_sum() -> None:
    """One interruption that nothing bounds leaves the sum with its lower bound alone, and with grade -."""
    con = small_warehouse()
    con.execute("update interruptions set lost_gpu_h_hi = null, grade = '-' where attempt_id = 'b1'")
    row = answers.ask(con, "headline").row(0, named=True)
    assert [row[f"lost_{name}"] for name in ("gpu_h", "gpu_h_lo", "gpu_h_hi", "grade")] == [None, 116.0, None, "-"]


def test_quality_reports_what_is_missing(con: duckdb.DuckDBPyConnection) -> None:
    """One input failed, one zone is assumed, three node-days have no kernel log, the rest adds up."""
    checks = {row["check_name"]: (row["status"], row["value"]) for row in answers.ask(con, "data_quality").to_dicts()}
    assert checks["inputs failed"] == ("error", 1)
    assert checks["time zone assumed"] == ("warning", 1)
    assert checks["node-days without kernel log"] == ("warning", 3)
    assert checks["losses without upper bound"] == ("ok", 0)
    assert checks["lines add up"] == checks["breakdown adds up"] == ("ok", 0)
    con_with_stranger = small_warehouse()
    con_with_stranger.execute("update interruptions set component = 'gpu.fan' where interruption_id = 'i1'")
    strange = {row["check_name"]: row["status"] for row in answers.ask(con_with_stranger, "data_quality").to_dicts()}
    assert strange["breakdown adds up"] == "error"


def test_evidence_is_told_in_time_order(con: duckdb.DuckDBPyConnection) -> None:
    """The trigger 120 s before the end comes first, the symptom 60 s before it second."""
    rows = (
        answers.ask(con, "interruption_evidence").filter(interruption_id="i1").select("seq", "role", "line_no").rows()
    )
    assert rows == [(1, "trigger", 120), (2, "symptom", 410)]


def test_hypotheses_are_ranked(con: duckdb.DuckDBPyConnection) -> None:
    """The runner-up stands below the verdict and says what speaks against it."""
    rows = (
        answers.ask(con, "interruption_hypotheses")
        .filter(interruption_id="i1")
        .select("rank", "label", "against")
        .rows()
    )
    assert rows == [(1, "GPU HBM3 Memory", None), (2, "NCCL Watchdog Timeouts", "a symptom, and later")]


def test_only_other_causes_are_rivals() -> None:
    """A second sign of the verdict, and the lack of a cause, are no rivals; the same part elsewhere on the node is."""
    con = small_warehouse()
    con.execute("""
        update hypotheses set pci_bdf = '0000:1b:00' where interruption_id = 'i2';
        insert into hypotheses (interruption_id, rank, component, rule, is_selected, event_id, node, pci_bdf, gpu_index)
        values
        ('i2', 2, 'gpu.device', 'its own line', false, 'e3', 'gpu-a02', null, null),
        ('i2', 3, 'gpu.device', 'its own line', false, 'e3', null, null, null),
        ('i2', 4, 'gpu.device', 'its own line', false, 'e1', 'gpu-a02', '0000:3b:00', 3),
        ('i2', 5, 'unattributed', 'nothing in the logs speaks for a cause', false, null, null, null, null);
        update events set meaning = 'The GPU is gone.' where event_id = 'e1'
    """)
    rivals = answers.ask(con, "interruption_hypotheses").filter(interruption_id="i2", is_selected=False)

    assert rivals.select("rank", "rule", "node", "gpu_index").rows() == [(4, "The GPU is gone", "gpu-a02", 3)]


def test_what_is_no_cause_is_not_beaten_by_one() -> None:
    """Where the verdict itself is unknown, nothing is ruled out because "a cause was found"."""
    con = small_warehouse()
    con.execute("""
        insert into hypotheses (interruption_id, rank, component, rule, strength, is_selected, against) values
        ('i6', 1, 'unknown.node_unresponsive', 'the controller lost the node', 'none', true, null),
        ('i6', 2, 'unknown.collective_timeout', 'nothing but time-outs', 'none', false, 'a cause was found')
    """)
    against = answers.ask(con, "interruption_hypotheses").filter(interruption_id="i6")["against"].to_list()

    assert against == [None, "it says less than unknown.node_unresponsive"]


def test_accounting_covers_a_job_as_a_whole(con: duckdb.DuckDBPyConnection) -> None:
    """An attempt that accounting has is covered on all its nodes, any other on none."""
    covered = answers.ask(con, "interruption_coverage").filter(channel="accounting")
    by_attempt = dict(
        covered.join(answers.ask(con, "interruption_timeline"), on="interruption_id")
        .select("attempt_id", "covered_nodes")
        .rows()
    )

    assert (by_attempt["a1"], by_attempt["b1"]) == (4, 0)


def test_incidents_carry_their_losses(con: duckdb.DuckDBPyConnection) -> None:
    """Seven incidents in order of their first fault, each with what its interruptions lost."""
    frame = answers.ask(con, "incident_table")
    assert frame["first_fault_ts"].is_sorted()
    assert frame.select("incident_id", "lost_gpu_h").row(0) == ("n1", 20.5)
    assert frame.height == 7


def test_sources_are_listed_by_path(con: duckdb.DuckDBPyConnection) -> None:
    """All five inputs are there, the two that gave nothing with their reason."""
    frame = answers.ask(con, "sources_overview")
    assert frame.height == 5
    assert dict(frame.filter(pl.col("status") != "used").select("path", "reason").iter_rows()) == {
        "logs/old.gz": "gzip stream ends early",
        "logs/photo.jpg": "no known format",
    }
    assert frame["first_ts"][0] == datetime.fromisoformat("2026-03-02T00:02:00Z")
