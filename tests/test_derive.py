"""What the derivation makes of small worlds whose verdict is plain by hand."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from worlds import derived, event, job, signature, source

from incidentlab import assets, derive, sqlfiles
from incidentlab.errors import DefinitionError
from incidentlab.signatures import load_components

START = datetime(2026, 3, 5, 1, 0)
END = datetime(2026, 3, 5, 3, 0)


def test_every_table_has_the_columns_of_its_head():
    """The statement gives just the columns that are declared, in their order."""
    con = derived()
    for name, file in sqlfiles.read_folder(assets.folder("queries") / "derive").items():
        made = [row[0] for row in con.execute(f"describe {file.body}").fetchall()]
        assert made == [column.name for column in file.columns], name


SIGNATURES = [
    signature("gpu-lost", "gpu.device", tier=3, scope="gpu"),
    signature("gpu-memory", "gpu.hbm", tier=4, scope="gpu"),
    signature("pcie-fatal", "host.io_board", tier=2, strength="suggestive", mark="pcie_error"),
    signature("user-fault", "software.user_code", tier=11, strength="suggestive", scope="gpu"),
    signature("link", "network.link_switch", tier=8, strength="suggestive", mark="link_down"),
    signature("shutdown", "", kind="lifecycle", tier=0, strength="none", mark="shutdown_orderly"),
    signature("watchdog", "unknown.collective_timeout", channels=["job"], kind="symptom", tier=13, strength="symptom",
              mark="collective_timeout", scope="rank"),
    signature("exception", "software.user_code", channels=["job"], tier=11, strength="suggestive", mark="exception",
              scope="rank"),
    signature("reason", "", channels=["slurm"], kind="lifecycle", tier=0, strength="none", mark="node_reason"),
    signature("down", "", channels=["slurm"], kind="lifecycle", tier=0, strength="none", mark="node_down"),
]  # fmt: skip


def world(*rows: dict[str, object], state: str = "FAILED", progress: tuple[datetime, ...] = (), **values: object):
    """One job on n1 and n2 from START to END, with these events around it."""
    return derived(
        job_records=[job("acct", 1, "7", state, start_ts=START, end_ts=END, **values)],
        events=list(rows),
        progress=[
            {
                "source_id": "out-7",
                "line_no": n,
                "local_ts": ts,
                "has_year": True,
                "ts_uncertainty_s": 1.0,
                "kind": "step",
                "step": n,
                "job_id": "7",
            }
            for n, ts in enumerate(progress, 1)
        ],
        knowledge={"signatures": SIGNATURES, "components": load_components()},
    )


def verdict(con) -> tuple[object, ...]:
    """Bucket, kind, component, confidence and node of the only interruption."""
    rows = con.execute("select bucket, kind, component, confidence, node from interruptions").fetchall()
    assert len(rows) == 1
    return rows[0]


def before_end(seconds: float) -> datetime:
    """An instant so many seconds before the job's end."""
    return END - timedelta(seconds=seconds)


def watchdog(line_no: int, ts: datetime) -> dict[str, object]:
    """A ten-minute watchdog report in the job's output."""
    return event("out-7", line_no, "watchdog", ts, channel="job", job_id="7", rank=3, fields='{"ran_for_ms": "600000"}')


def test_every_derived_table_can_be_made_from_nothing():
    """With no input at all every derived table exists and is empty, but for the one-row facts."""
    con = derived()
    names = set(sqlfiles.read_folder(assets.folder("queries") / "derive"))
    made = {
        row[0] for row in con.execute("select table_name from duckdb_tables() where schema_name = 'main'").fetchall()
    }

    assert names <= made
    assert con.execute("select count(*) from interruptions").fetchone() == (0,)


def test_a_circle_of_derived_tables_is_refused():
    """Two tables that read each other are an error that names them."""
    files = sqlfiles.read_folder(assets.folder("queries") / "derive")
    circle = {name: files["runs"].__class__(name, files["runs"].path, "x", "", (), (), body)
              for name, body in (("a", "select 1 from b"), ("b", "select 1 from a"))}  # fmt: skip

    with pytest.raises(DefinitionError, match="circle: "):
        derive.in_order(circle, sqlfiles.reads)


@pytest.mark.parametrize("body", ["select 'a' as run_id", "select *, 1 as more from runs", "select nothing from runs"])
def test_a_statement_gives_the_columns_of_its_head(body: str):
    """One that lacks a column, has one more, or cannot be bound is an error that names its file."""
    file = sqlfiles.read_folder(assets.folder("queries") / "derive")["runs"]

    with pytest.raises(DefinitionError, match=r"derive/runs\.sql"):
        derive.fill(world(), replace(file, body=body))


def test_a_direct_fault_before_the_hang_is_confirmed():
    """A lost GPU ten minutes before the watchdog's line is the cause, not the watchdog."""
    con = world(event("k", 1, "gpu-lost", before_end(605), node="n1", code="79"), watchdog(1, before_end(1)))

    assert ("unplanned", "hang", "gpu.device", "confirmed", "n1") == verdict(con)


def test_a_watchdog_alone_is_no_verdict():
    """A time-out with nothing beside it is unattributed, whatever it prints."""
    con = world(watchdog(1, before_end(1)))

    assert ("unplanned", "hang", "unknown.collective_timeout", "unattributed", None) == verdict(con)


def test_silence_is_not_the_same_as_missing_logs():
    """Without a kernel log the verdict says no_data, with one it says silent."""
    without = world()
    with_log = derived(
        job_records=[job("acct", 1, "7", "FAILED", start_ts=START, end_ts=END)],
        sources=[source("acct", "accounting", [START, END]), source("k", "kernel", [START, END])],
        knowledge={"signatures": SIGNATURES, "components": load_components()},
    )
    ask = "select component, silence from interruptions"

    assert ("unattributed", "no_data") == without.execute(ask).fetchone()
    assert ("unattributed", "silent") == with_log.execute(ask).fetchone()


def test_strength_beats_time():
    """A suggestive fault that came first loses to a direct one that came later."""
    con = world(
        event("k", 1, "user-fault", before_end(30), node="n2", code="31"),
        event("k", 2, "gpu-memory", before_end(20), node="n1", code="48"),
    )

    assert "gpu.hbm" == verdict(con)[2]


def test_a_fault_that_training_survived_is_not_charged():
    """A direct fault after which steps went on for minutes is listed, with that against it."""
    con = world(
        event("k", 1, "gpu-memory", before_end(1800), node="n1", code="48"),
        progress=tuple(before_end(seconds) for seconds in range(3000, 60, -60)),
    )
    against = con.execute("select against from hypotheses where component = 'gpu.hbm'").fetchone()[0]

    assert "unattributed" == verdict(con)[2]
    assert against.startswith("training went on for ")


def test_a_fault_on_another_node_is_never_charged():
    """A lost GPU on a node that is not the job's makes an incident without interruption."""
    con = world(event("k", 1, "gpu-lost", before_end(10), node="n9", code="79"))

    assert "unattributed" == verdict(con)[2]
    assert ("gpu.device", 0) == con.execute(
        "select component, interruption_count from incidents where node = 'n9'"
    ).fetchone()


def test_several_gpus_lost_at_once_accuse_the_board():
    """Two GPUs of one node within ten seconds are not two faulty GPUs."""
    con = world(
        event("k", 1, "gpu-lost", before_end(20), node="n1", code="79", pci_bdf="0000:1b:00"),
        event("k", 2, "gpu-lost", before_end(18), node="n1", code="79", pci_bdf="0000:1c:00"),
    )

    assert ("host.io_board", "n1") == verdict(con)[2::2]


def test_a_pcie_error_before_the_loss_outranks_it():
    """AER on the node just before the GPU is gone makes the slot the cause."""
    con = world(
        event("k", 1, "pcie-fatal", before_end(25), node="n1"),
        event("k", 2, "gpu-lost", before_end(20), node="n1", code="79", pci_bdf="0000:1b:00"),
    )

    assert "host.io_board" == verdict(con)[2]


def test_links_of_three_hosts_accuse_the_switch():
    """Ports of three nodes within a minute are one network fault."""
    con = world(
        *(event("k", n, "link", before_end(20 - n), node=f"n{n}") for n in (1, 2, 3)),
        node_count=3,
        nodes=["n1", "n2", "n3"],
    )

    assert ("network.link_switch", "confirmed") == verdict(con)[2:4]


def test_an_exception_before_every_complaint_is_the_cause():
    """With no hardware fault in place, the first uncaught exception is a software bug and confirmed."""
    con = world(event("out-7", 1, "exception", before_end(5), channel="job", job_id="7"))

    assert ("software.user_code", "confirmed") == verdict(con)[2:4]


def test_an_exception_beside_a_lost_gpu_is_not():
    """The exception that a lost GPU throws is no software bug."""
    con = world(
        event("k", 1, "gpu-lost", before_end(6), node="n1", code="79"),
        event("out-7", 1, "exception", before_end(5), channel="job", job_id="7"),
    )

    assert "gpu.device" == verdict(con)[2]


def test_a_quoted_line_is_no_evidence():
    """A kernel line in a job's output is text that somebody printed."""
    con = world(event("out-7", 1, "gpu-lost", before_end(6), channel="job", job_id="7", code="79"))

    assert "unattributed" == verdict(con)[2]
    assert ("context", "none") == con.execute("select kind, strength from events").fetchone()


def test_the_same_record_in_two_logs_is_one_event():
    """Copies of one line in syslog and journal count once."""
    copies = [
        event(name, 1, "gpu-lost", before_end(6), node="n1", code="79", message="GPU lost") for name in ("k", "j")
    ]
    con = world(*copies)

    assert 1 == con.execute("select count(*) from events where duplicate_of is null").fetchone()[0]
    assert 1 == con.execute("select event_count from episodes").fetchone()[0]


def test_repeats_in_one_log_stay_apart():
    """Two equal lines of one file within a second are two records of one episode."""
    con = world(*(event("k", n, "gpu-lost", before_end(6), node="n1", code="79", message="GPU lost") for n in (1, 2)))

    assert (2, 2) == con.execute(
        "select event_count, (select count(*) from events where duplicate_of is null) from episodes"
    ).fetchone()


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ("TIMEOUT", ("policy", "time_limit")),
        ("PREEMPTED", ("policy", "preempt")),
        ("CANCELLED", ("policy", "cancel")),
        ("NODE_FAIL", ("unplanned", "node_fail")),
        ("OUT_OF_MEMORY", ("unplanned", "fault")),
    ],
)
def test_the_state_alone_tells_the_bucket(state: str, expected: tuple[str, str]):
    """Without any other line the scheduler's state decides the bucket."""
    assert expected == verdict(world(state=state))[:2]


def test_a_completed_job_is_no_interruption():
    """COMPLETED is not interrupted, whatever its nodes' logs say."""
    con = world(event("k", 1, "gpu-memory", before_end(6), node="n1", code="48"), state="COMPLETED")

    assert (0,) == con.execute("select count(*) from interruptions").fetchone()


def test_a_cancel_of_a_hung_job_is_unplanned():
    """An owner who cancels after half an hour without a step ended a hang."""
    con = world(state="CANCELLED", progress=tuple(before_end(seconds) for seconds in range(3600, 1700, -60)))

    assert ("unplanned", "hang") == verdict(con)[:2]


def test_a_drain_for_maintenance_before_the_end_is_planned():
    """A reason that speaks of maintenance, set before the requeue, makes it planned."""
    con = world(
        event("ctl", 1, "reason", before_end(300), channel="slurm", node="n1", fields='{"reason": "firmware upgrade"}'),
        state="REQUEUED",
    )

    assert ("planned", "maintenance", None, None) == verdict(con)[:4]


def test_the_same_drain_after_the_end_is_not_planned():
    """A reason set after the end explains nothing that came before it."""
    con = world(
        event(
            "ctl", 1, "reason", before_end(-300), channel="slurm", node="n1", fields='{"reason": "firmware upgrade"}'
        ),
        state="REQUEUED",
    )

    assert "unplanned" == verdict(con)[0]


def test_an_orderly_shutdown_without_notice_is_host_maintenance():
    """A node of the job that shuts down in good order, unannounced, was taken by people."""
    con = world(
        event("k", 1, "shutdown", before_end(40), node="n1"),
        event("ctl", 1, "down", before_end(1), channel="slurm", node="n1"),
        state="NODE_FAIL",
    )

    assert ("unplanned", "node_fail", "maintenance.unplanned", "confirmed", "n1") == verdict(con)


def test_a_lost_node_without_a_word_is_unresponsive():
    """The controller's word names the node, not the cause."""
    con = world(event("ctl", 1, "down", before_end(1), channel="slurm", node="n2"), state="NODE_FAIL")

    assert ("unplanned", "node_fail", "unknown.node_unresponsive", "unattributed", "n2") == verdict(con)


def test_a_requeue_under_one_job_id_is_one_run():
    """Two records of one job id are two attempts of one run."""
    con = derived(
        job_records=[
            job("acct", 1, "7", "NODE_FAIL", start_ts=START, end_ts=END),
            job("acct", 2, "7", "COMPLETED", start_ts=END + timedelta(minutes=5), end_ts=END + timedelta(hours=1)),
        ],
        knowledge={"components": load_components()},
    )

    assert [(1, 0), (2, 1)] == con.execute(
        "select attempt_no, restart_count from attempts order by start_ts"
    ).fetchall()
    assert [(2, "same job id")] == con.execute("select attempts, grouping from runs").fetchall()


def test_two_dumps_of_one_run_are_one_attempt():
    """A later dump replaces what an earlier one knew of the same run."""
    con = derived(
        job_records=[
            job("early", 1, "7", "RUNNING", start_ts=START, end_ts=None),
            job("late", 1, "7", "FAILED", start_ts=START, end_ts=END),
        ],
        knowledge={"components": load_components()},
    )

    assert [("FAILED", True)] == con.execute("select state, has_ended from attempts").fetchall()


def test_a_dump_from_another_zone_is_shifted_back():
    """An accounting dump whose jobs all start six hours off is read in its own zone."""
    hours = timedelta(hours=6)
    jobs = [(str(n), START + timedelta(minutes=7 * n)) for n in range(4)]

    def dump(name: str, shift: timedelta) -> list[dict[str, object]]:
        return [
            job(
                name,
                n,
                job_id,
                "FAILED",
                start_ts=ts + shift,
                end_ts=ts + shift + timedelta(minutes=n + 5),
                elapsed_s=60 * n + 300,
            )
            for n, (job_id, ts) in enumerate(jobs)
        ]

    con = derived(
        job_records=[*dump("a", timedelta()), *dump("b", timedelta()), *dump("c", -hours)],
        knowledge={"components": load_components()},
    )

    assert [(4, 6 * 3600)] == con.execute(
        "select (select count(*) from attempts), shift_s from clocks where source_id = 'c'"
    ).fetchall()


def test_zone_less_stamps_take_the_zone_of_zoned_ones():
    """A controller log without a zone is read in the zone that the kernel logs write."""
    con = derived(
        job_records=[job("acct", 1, "7", "FAILED", start_ts=START, end_ts=END)],
        events=[event("k", n, "gpu-lost", before_end(n), node="n1", utc_offset_s=3600) for n in (1, 2)],
        sources=[source("acct", "accounting", [START, END]), source("k", "kernel", [END], utc_offset_s=3600)],
        knowledge={"signatures": SIGNATURES, "components": load_components()},
    )

    assert "2026-03-05 02:00:00+00:00" == str(con.execute("select end_ts from attempts").fetchone()[0])
    assert {("acct", "+01:00"), ("k", "+01:00")} == set(
        con.execute("select source_id, timezone from clocks").fetchall()
    )


def test_a_year_is_taken_from_dated_sources():
    """Stamps without a year fall into the span of stamps that have one, and turn over New Year."""
    rows = [
        event("k", 1, "gpu-lost", datetime(2000, 12, 31, 23, 59), node="n1", has_year=False),
        event("k", 2, "gpu-lost", datetime(2000, 1, 1, 0, 1), node="n1", has_year=False, message="again"),
    ]
    con = derived(
        job_records=[job("acct", 1, "7", "FAILED", start_ts=datetime(2025, 12, 30), end_ts=datetime(2026, 1, 2))],
        events=rows,
        knowledge={"signatures": SIGNATURES, "components": load_components()},
    )

    assert [2025, 2026] == [row[0] for row in con.execute("select year(ts) from events order by ts").fetchall()]


def test_the_order_of_rows_changes_nothing():
    """Events in any order give the same verdicts."""
    rows = [
        event("k", 1, "user-fault", before_end(30), node="n2", code="31"),
        event("k", 2, "gpu-memory", before_end(20), node="n1", code="48"),
        watchdog(3, before_end(1)),
    ]
    ask = "select * from hypotheses order by all"

    assert world(*rows).execute(ask).fetchall() == world(*reversed(rows)).execute(ask).fetchall()


def test_a_dump_without_earlier_attempts_is_completed_from_the_log():
    """The controller's log tells of the attempts that the accounting dump left out."""
    signatures = [
        *SIGNATURES,
        signature("started", "", channels=["slurm"], kind="lifecycle", tier=0, strength="none", mark="job_started"),
        signature("failed", "", channels=["slurm"], kind="lifecycle", tier=0, strength="none", mark="job_failed"),
    ]
    first = START - timedelta(hours=11, minutes=7)
    nodes = '{"nodes": ["n1", "n2"]}'
    con = derived(
        job_records=[job("acct", 1, "7", "COMPLETED", start_ts=START, end_ts=END)],
        events=[
            event("ctl", 1, "started", first, channel="slurm", job_id="7", fields=nodes),
            event("ctl", 2, "failed", first + timedelta(hours=1), channel="slurm", job_id="7"),
            event("ctl", 3, "started", START + timedelta(seconds=1), channel="slurm", job_id="7", fields=nodes),
        ],
        knowledge={"signatures": signatures, "components": load_components()},
    )

    assert [("FAILED", "controller log"), ("COMPLETED", "accounting")] == con.execute(
        "select state, basis from attempts order by start_ts"
    ).fetchall()
    assert [("n1",), ("n2",)] == con.execute("""
        select node from attempt_nodes inner join attempts using (attempt_id)
        where basis = 'controller log' order by node
    """).fetchall()
