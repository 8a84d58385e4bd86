"""How a run ended, in the words of schedulers, operators and outputs: small worlds whose verdict is plain by hand."""

from datetime import datetime, timedelta

import pytest
import worlds
from worlds import Row, derived, event, job, source

from incidentlab.signatures import load_components

START = datetime(2026, 3, 5, 1, 0)
END = datetime(2026, 3, 5, 3, 0)


def signature(name: str, component: str = "", **values: object) -> Row:
    """One signature row, of the controller's log unless `values` say otherwise."""
    quiet = {"channels": ["slurm"], "kind": "lifecycle", "strength": "none", "tier": 0}
    return worlds.signature(name, component, **quiet | values)


JOB = {"channels": ["job"], "kind": "symptom", "strength": "symptom", "scope": "rank"}
KNOWLEDGE = {
    "components": load_components(),
    "signatures": [
        signature("reason", mark="node_reason"),
        signature("drain", mark="node_drain"),
        signature("rebooted", mark="node_rebooted"),
        signature("started", mark="job_started"),
        signature("cancel", mark="job_cancel_requested"),
        signature("gpu-lost", "gpu.device", channels=["kernel"], kind="fault", strength="direct", tier=3, scope="gpu"),
        signature("link-flap", "network.nic", channels=["kernel"], kind="context"),
        signature("shutdown", channels=["kernel"], mark="shutdown_orderly"),
        signature("peer-lost", **JOB, mark="peer_lost"),
        signature("rank-aborted", **JOB, mark="root_cause_rank"),
        signature("watchdog-ends-it", **JOB, mark="watchdog_abort"),
        signature("slurm-banner-step", **JOB, mark="step_failed"),
        signature("slurm-banner-lost", **JOB | {"channels": ["slurm", "job"]}, mark="job_killed_node_fail"),
        signature("tracker-away", "dependency.service", **JOB, mark="retried_error"),
        signature("nccl-version", channels=["job"], kind="context"),
        signature("exception", "software.user_code", **JOB | {"kind": "fault", "strength": "suggestive"}, tier=11,
                  mark="exception"),
    ],
}  # fmt: skip


def before_end(seconds: float) -> datetime:
    """An instant so many seconds before the job's end."""
    return END - timedelta(seconds=seconds)


def said(line_no: int, name: str, seconds: float, **values: object) -> Row:
    """A line of the controller so many seconds before the end."""
    return event("ctl", line_no, name, before_end(seconds), channel="slurm", **values)


def verdict(state: str, *rows: Row, steps: tuple[float, ...] = (), **values: object) -> tuple:
    """(bucket, kind, component, confidence, node) of job 7 on n1 and n2, which ended in this state."""
    con = derived(
        job_records=[job("acct", 1, "7", state, start_ts=START, end_ts=END, **values)],
        events=rows,
        progress=[
            {
                "source_id": "out-7", "line_no": n, "local_ts": before_end(seconds), "has_year": True,
                "ts_uncertainty_s": 1.0, "kind": "step", "step": n, "job_id": "7",
            }
            for n, seconds in enumerate(steps, 1)
        ],
        knowledge=KNOWLEDGE,
    )  # fmt: skip
    [row] = con.execute("select bucket, kind, component, confidence, node from interruptions").fetchall()
    return row


DRAIN = said(1, "reason", 4000, node="n1", fields='{"reason": "scheduled maintenance: BIOS update"}')
ALIVE = [
    event("n1-kern", number, "link-flap", before_end(seconds), node="n1", reporter="n1", message=f"flap {number}")
    for number, seconds in enumerate((6000, -600), 1)
]
DOWN = event("n1-kern", 3, "shutdown", before_end(20), node="n1")


@pytest.mark.parametrize(
    ("rows", "bucket"),
    [([DRAIN], "planned"), ([DRAIN, *ALIVE, DOWN], "planned"), ([DRAIN, *ALIVE], "unplanned")],
    ids=["no log of the node", "shut down", "vanished"],
)
def test_a_draining_node_that_vanishes_broke(rows: list[Row], bucket: str):
    """Maintenance waits for the job: a drained node that its own log does not see shut down was lost."""
    assert verdict("NODE_FAIL", *rows)[0] == bucket


LOST = event("n1-kern", 9, "gpu-lost", before_end(480), node="n1", pci_bdf="0000:1b:00")
ASKED = said(2, "cancel", 0, job_id="7", fields='{"uid": "20117"}')


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ((1500, 1000, 500), ("unplanned", "hang", "gpu.device", "confirmed", "n1")),
        ((1300, 800, 300), ("policy", "cancel", None, None, None)),
    ],
    ids=["still since", "went on"],
)
def test_an_owner_may_clear_up_after_a_fault(steps: tuple[float, ...], expected: tuple):
    """An owner's cancel of a job that made no step since its GPU was lost is the fault's doing."""
    steps = (*(seconds + 100 for seconds in steps), *steps)

    assert verdict("CANCELLED", LOST, ASKED, steps=steps) == expected


def test_an_operators_word_is_taken_for_the_cause():
    """Who drains a node with a reason, and cancels the job a moment later, took the node away."""
    reason = said(1, "reason", 43, node="n1", fields='{"reason": "urgent: coolant hose leaks, power off now"}')
    by_root = said(2, "cancel", 0, job_id="7", fields='{"uid": "0"}')

    assert verdict("CANCELLED", reason, by_root) == ("unplanned", "cancel", "maintenance.unplanned", "suspected", "n1")


def test_who_prints_that_a_node_is_lost_need_not_be_it():
    """The banner names the host that prints it; the controller names the one that is gone."""
    banner = event("n2-slurmd", 1, "slurm-banner-lost", before_end(2), channel="slurm", node="n2", job_id="7",
                   fields='{"reported_by": "n2"}')  # fmt: skip

    assert verdict("NODE_FAIL", banner, said(2, "rebooted", 1, node="n1"))[2:] == (
        "unknown.node_unresponsive",
        "unattributed",
        "n1",
    )


def test_an_abort_after_a_lost_peer_is_not_the_programs_fault():
    """A rank's own watchdog ends it when a peer is gone, and what took the peer stays open; another's is no excuse."""
    lost = event("out-7", 1, "peer-lost", before_end(20), channel="job", job_id="7")
    ended, others = (
        event("out-7", 2, "watchdog-ends-it", before_end(9), channel="job", job_id="7", rank=rank) for rank in (3, 4)
    )
    aborted = event("out-7", 3, "rank-aborted", before_end(5), channel="job", job_id="7", rank=3,
                    fields='{"exit_code": "-6"}')  # fmt: skip

    assert verdict("FAILED", lost, ended, aborted)[2:4] == ("unattributed", "unattributed")
    assert verdict("FAILED", lost, others, aborted)[2:4] == ("software.user_code", "suspected")


@pytest.mark.parametrize(("seconds", "component"), [(300, "dependency.service"), (301, "unattributed")])
def test_the_last_error_before_the_end_may_be_the_cause(seconds: float, component: str):
    """A client that usually tries again is suspected when the run ends within five minutes of its error."""
    error = event("out-7", 1, "tracker-away", before_end(seconds), channel="job", job_id="7")

    assert verdict("FAILED", error)[2] == component


def test_behind_the_banner_of_a_killed_try_the_next_one_writes():
    """Lines without stamps between the banner of one try and that of the next are the next one's."""
    tries = [(START, START + timedelta(minutes=60)), (START + timedelta(minutes=62), START + timedelta(minutes=64))]
    lent = {"channel": "job", "job_id": "7", "ts_uncertainty_s": 4000.0}
    con = derived(
        job_records=[job("acct", n, "7", "REQUEUED", start_ts=a, end_ts=b) for n, (a, b) in enumerate(tries, 1)],
        events=[
            event("out-7", 1, "exception", START, **lent, message="RuntimeError: first"),
            event("out-7", 2, "slurm-banner-step", tries[0][1], channel="job", job_id="7"),
            event("out-7", 3, "nccl-version", START, **lent),
            event("out-7", 4, "exception", START, **lent, message="AttributeError: second"),
            event("out-7", 5, "slurm-banner-step", tries[1][1], channel="job", job_id="7"),
        ],
        knowledge=KNOWLEDGE,
    )

    assert [(tries[0][0].hour, "RuntimeError: first"), (tries[1][0].hour, "AttributeError: second")] == con.execute("""
        select hour(a.start_ts), e.message from event_attempts inner join events as e using (event_id)
        inner join attempts as a using (attempt_id) where e.mark = 'exception' order by a.start_ts
    """).fetchall()


def test_a_cluster_that_one_file_names_is_that_of_all():
    """Where one dump names the only cluster, an output elsewhere belongs to its job and not to a job of its own."""
    con = derived(
        job_records=[job("s.txt", 1, "7", "FAILED", start_ts=START, end_ts=END, cluster="alpha")],
        events=[event("runs/7.out", 1, "exception", before_end(5), channel="job", job_id="7")],
        sources=[source("s.txt", "accounting", [START, END]), source("runs/7.out", "job", [before_end(5)])],
        knowledge=KNOWLEDGE,
    )

    assert [("7", "accounting", "software.user_code")] == con.execute("""
        select job_id, basis, component from attempts inner join interruptions using (attempt_id, job_id)
    """).fetchall()


def test_a_run_without_an_end_lasts_until_its_node_is_given_on():
    """A start whose end no log holds adds no hours behind the next start on its node, and hides no GPU-hours."""
    con = derived(
        job_records=[
            job("acct", 1, "8", "COMPLETED", start_ts=START, end_ts=END, nodes=["n1"], node_count=1, gpu_count=8)
        ],
        events=[said(1, "started", 10800, job_id="7", fields='{"nodes": ["n1"]}')],
        knowledge=KNOWLEDGE,
    )  # fmt: skip

    assert con.execute(
        "select state, end_ts = timestamptz '2026-03-05 01:00Z' from attempts where job_id = '7'"
    ).fetchone() == (
        "UNKNOWN",
        True,
    )
    # one hour of job 7, whose GPUs nobody knows, and two hours on eight GPUs
    assert con.execute("select allocated_h, allocated_gpu_h from exposure_daily").fetchall() == [(3.0, 16.0)]
