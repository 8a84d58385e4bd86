"""Which of several things that happened to a job may be its cause: hiccups, boots, and drains that a fault overtook."""

from datetime import datetime, timedelta

import pytest
from worlds import derived, event, job, signature

from incidentlab.signatures import load_components

START = datetime(2026, 3, 5, 1, 0)
END = datetime(2026, 3, 5, 3, 0)


def lifecycle(name: str, mark: str, channel: str = "slurm") -> dict[str, object]:
    """One signature without a cause."""
    return signature(name, "", channels=[channel], kind="lifecycle", tier=0, strength="none", mark=mark)


KNOWLEDGE = {
    "signatures": [
        signature("gpu-lost", "gpu.device", scope="gpu"),
        signature("server-away", "dependency.filesystem", tier=9, strength="suggestive", scope="shared"),
        signature("server-back", "dependency.filesystem", kind="recovery", tier=0, strength="none", scope="shared"),
        signature("driver-loaded", "software.system", kind="context", tier=0, strength="none", mark="driver_loaded"),
        signature("peer-gone", "", channels=["job"], kind="symptom", tier=0, strength="symptom", scope="rank"),
        lifecycle("boot", "boot", "kernel"),
        lifecycle("down", "node_down"),
        lifecycle("reason", "node_reason"),
        lifecycle("reservation", "maintenance_window"),
    ],
    "components": load_components(),
}


def before_end(seconds: float) -> datetime:
    """That long before the job's end."""
    return END - timedelta(seconds=seconds)


def verdict(*lines: dict[str, object], state: str = "FAILED") -> tuple[object, ...]:
    """Bucket and component of job 7's one interruption."""
    con = derived(
        job_records=[job("acct", 1, "7", state, start_ts=START, end_ts=END, elapsed_s=7200)],
        events=list(lines),
        knowledge=KNOWLEDGE,
    )
    return con.execute("select bucket, component from interruptions").fetchone()


def server(line_no: int, name: str, seconds: float, host: str = "nas-1") -> dict[str, object]:
    """What n1 says about a file server."""
    return event("k", line_no, name, before_end(seconds), node="n1", fields=f'{{"server": "{host}"}}')


def test_a_file_server_that_is_back_in_a_minute_is_no_cause():
    """It was away for 60 s a quarter of an hour before the end; the job went on waiting for something else."""
    lines = (server(1, "server-away", 900), server(2, "server-back", 840))

    assert verdict(*lines) == ("unplanned", "unattributed")


@pytest.mark.parametrize(
    "back", [server(2, "server-back", 300), server(2, "server-back", 10), server(2, "server-back", 840, "nas-2")]
)
def test_a_file_server_that_stays_away_is_one(back: dict[str, object]):
    """Back after ten minutes, back when the job was ending, or another server: this one is the suspect."""
    assert verdict(server(1, "server-away", 900 if back["local_ts"] < before_end(60) else 90), back) == (
        "unplanned",
        "dependency.filesystem",
    )


def test_a_driver_loaded_by_a_boot_speaks_of_no_operator():
    """A node that crashed loads its driver again; nobody took it."""
    lines = (
        event("k", 1, "boot", before_end(65), node="n1"),
        event("k", 2, "driver-loaded", before_end(60), node="n1"),
        event("ctl", 1, "down", before_end(1), channel="slurm", node="n1"),
    )

    assert verdict(*lines, state="NODE_FAIL") == ("unplanned", "unknown.node_unresponsive")


def test_a_driver_loaded_under_a_running_job_is_an_operator_s_doing():
    """Without a boot before it, people changed the driver."""
    lines = (
        event("k", 2, "driver-loaded", before_end(60), node="n1"),
        event("ctl", 1, "down", before_end(1), channel="slurm", node="n1"),
    )

    assert verdict(*lines, state="NODE_FAIL") == ("unplanned", "maintenance.unplanned")


def drained(seconds: float) -> dict[str, object]:
    """n2 is drained for maintenance."""
    text = '{"reason": "firmware upgrade"}'
    return event("ctl", 1, "reason", before_end(seconds), channel="slurm", node="n2", fields=text)


def test_a_fault_that_overtakes_a_planned_drain_is_no_plan():
    """Drained for the evening, broken in the afternoon: a GPU was lost and ranks complained before the requeue."""
    lines = (
        drained(1800),
        event("k", 1, "gpu-lost", before_end(120), node="n1"),
        event("out-7", 1, "peer-gone", before_end(100), channel="job", job_id="7"),
    )

    assert verdict(*lines, state="REQUEUED") == ("unplanned", "gpu.device")


def test_a_fault_that_nobody_felt_leaves_the_plan_a_plan():
    """The same fault, but no rank complained before people sent the job away."""
    lines = (drained(1800), event("k", 1, "gpu-lost", before_end(120), node="n1"))

    assert verdict(*lines, state="REQUEUED")[0] == "planned"


@pytest.mark.parametrize(("minutes", "bucket"), [(3, "planned"), (20, "unplanned")])
def test_jobs_are_sent_away_shortly_before_a_window_opens(minutes: int, bucket: str):
    """Three minutes before the window it is the window's doing; twenty minutes before it is not."""
    opens = END + timedelta(minutes=minutes)
    fields = (
        f'{{"users": "root", "reservation": "r1", "window_start": "{opens.isoformat()}",'
        f' "window_end": "{(opens + timedelta(hours=4)).isoformat()}"}}'
    )

    assert verdict(
        event("ctl", 1, "reservation", START, channel="slurm", node="n1", fields=fields), state="REQUEUED"
    )[0] == bucket  # fmt: skip
