"""What the derivation makes of outputs and dumps that tell only a part: small worlds whose verdict is plain by hand."""

from datetime import datetime, timedelta

import duckdb
import pytest
import worlds
from worlds import Row, derived, event, job, source

from incidentlab.signatures import load_components

START = datetime(2026, 3, 5, 1, 0)
END = datetime(2026, 3, 5, 3, 0)


def signature(name: str, component: str, **values: object) -> Row:
    """One signature of a job's output."""
    quiet = {"channels": ["job"], "kind": "lifecycle", "strength": "none", "tier": 0, "scope": "job"}
    return worlds.signature(name, component, **quiet | values)


KNOWLEDGE = {
    "components": load_components(),
    "signatures": [
        signature("limit", "", mark="job_time_limit"),
        signature("cancelled", "", mark="job_cancelled"),
        signature(
            "node-lost", "unknown.node_unresponsive", kind="symptom", strength="symptom", mark="job_killed_node_fail"
        ),
        signature("step-over", "", kind="symptom", strength="symptom", mark="step_failed"),
        signature("exception", "software.user_code", kind="fault", strength="suggestive", tier=11, mark="exception"),
        signature(
            "login",
            "dependency.service",
            channels=["slurm"],
            kind="fault",
            strength="suggestive",
            tier=8,
            scope="shared",
        ),
        signature("gpu-lost", "gpu.device", channels=["kernel"], kind="fault", strength="direct", tier=3, scope="gpu"),
    ],
}


def printed(*names: str, path: str = "runs/a/out.log", ts: datetime | None = END) -> tuple[list[Row], Row]:
    """Lines of one output, and its source."""
    lines = [event(path, number, name, ts, channel="job") for number, name in enumerate(names, 1)]
    return lines, source(path, "job", [ts] if ts else [])


def verdicts(con: duckdb.DuckDBPyConnection) -> list[tuple]:
    """(bucket, kind, component) of every interruption."""
    return con.execute(
        "select bucket, kind, component from interruptions order by ts nulls first, attempt_id"
    ).fetchall()


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["step-over", "limit"], ("policy", "time_limit", None)),
        (["step-over", "cancelled"], ("policy", "cancel", None)),
        (["exception", "step-over", "cancelled"], ("unplanned", "fault", "software.user_code")),
        (["step-over", "node-lost"], ("unplanned", "node_fail", "unknown.node_unresponsive")),
    ],
)
def test_an_output_alone_tells_how_the_run_ended(names: list[str], expected: tuple):
    """The scheduler's banner is the reason, but a cancel after an exception only clears up."""
    lines, origin = printed(*names)

    assert verdicts(derived(events=lines, sources=[origin], knowledge=KNOWLEDGE)) == [expected]


def test_an_undated_note_above_does_not_join_runs():
    """Outputs in two folders are two runs, although a file without a stamp that quotes them lies above both."""
    parts = [
        printed("exception", path="runs/a/out.log"),
        printed("exception", path="runs/b/out.log", ts=END + timedelta(seconds=30)),
        printed("exception", path="runs/notes.txt", ts=None),
    ]
    con = derived(
        events=[line for lines, _ in parts for line in lines],
        sources=[origin for _, origin in parts],
        knowledge=KNOWLEDGE,
    )

    assert con.execute("select count(*) from attempts where start_ts is not null").fetchone() == (2,)


@pytest.mark.parametrize(("after_s", "component"), [(-30, "dependency.service"), (30, "unattributed")])
def test_a_shared_service_that_broke_after_the_end_is_no_cause(after_s: int, component: str):
    """What fails for all is charged to a run only if it failed before the run did."""
    con = derived(
        job_records=[job("acct", 1, "7", "FAILED", start_ts=START, end_ts=END)],
        events=[event("ctl", 1, "login", END + timedelta(seconds=after_s), channel="slurm")],
        knowledge=KNOWLEDGE,
    )

    assert [found for *_, found in verdicts(con)] == [component]


def test_a_dump_with_fewer_columns_does_not_part_a_run():
    """Two tries of a job are one run, although only the dump of the second one has the working directory."""
    later = {"start_ts": END + timedelta(minutes=7), "end_ts": END + timedelta(hours=1)}
    con = derived(
        job_records=[
            job("narrow", 1, "7", "NODE_FAIL", start_ts=START, end_ts=END),
            job("wide", 1, "7", "COMPLETED", work_dir="/home/mira", **later),
        ],
        knowledge=KNOWLEDGE,
    )

    assert con.execute("select attempts from runs").fetchall() == [(2,)]


def test_a_suspended_run_is_one_attempt_in_two_dumps():
    """A dump without run times tells of the same run as one whose run time leaves out a suspension."""
    span = {"start_ts": START, "end_ts": END}
    con = derived(
        job_records=[
            job("full", 1, "7", "COMPLETED", elapsed_s=7000, **span),
            job("short", 1, "7", "COMPLETED", elapsed_s=None, **span),
        ],
        knowledge=KNOWLEDGE,
    )

    assert con.execute("select count(*) from attempts").fetchone() == (1,)


def test_an_hour_that_comes_twice_is_told_by_the_order_of_lines():
    """Stamps before the clock goes back are the first 02:59 in Berlin (00:59 UTC), those after it the second 02:00."""
    night = datetime(2026, 10, 25, 2, 0)
    con = derived(
        events=[
            event("k", 1, "gpu-lost", night.replace(minute=59), node="n1"),
            event("k", 2, "gpu-lost", night, node="n1"),
        ],
        knowledge={
            **KNOWLEDGE,
            "time_zones": [{"pattern": "*", "timezone": "Europe/Berlin", "basis": "told", "priority": 1000}],
        },
    )

    assert con.execute("select strftime(ts, '%H:%M') from events order by line_no").fetchall() == [
        ("00:59",),
        ("01:00",),
    ]


def test_a_fault_on_an_unnamed_host_is_an_incident():
    """A ring buffer does not say whose it is; its dated fault is an incident nevertheless."""
    con = derived(events=[event("k", 1, "gpu-lost", END)], knowledge=KNOWLEDGE)

    assert con.execute("select component, node, interruption_count from incidents").fetchall() == [
        ("gpu.device", None, 0)
    ]


@pytest.mark.parametrize(("later", "bucket"), [([], "unplanned"), ([5, 6], "policy")])
def test_steps_without_stamps_after_the_last_stamped_one_clear_a_run(later: list[int], bucket: str):
    """A run hung until its limit if its last step is long ago; later steps without a stamp leave that open."""
    mark = {"source_id": "out-7", "has_year": True, "kind": "step", "job_id": "7", "local_ts": START}
    con = derived(
        job_records=[job("acct", 1, "7", "TIMEOUT", start_ts=START, end_ts=END)],
        progress=[
            {**mark, "line_no": 4, "step": 4, "ts_uncertainty_s": 0.001},
            *({**mark, "line_no": step, "step": step, "ts_uncertainty_s": None} for step in later),
        ],
        knowledge=KNOWLEDGE,
    )

    assert [found for found, *_ in verdicts(con)] == [bucket]
