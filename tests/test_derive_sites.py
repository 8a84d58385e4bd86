"""What the derivation makes of sites that share nodes, run arrays, put clocks back and drain by hand."""

from datetime import datetime, timedelta

from worlds import derived, event, job, signature, source

from incidentlab.signatures import load_components

START = datetime(2026, 3, 5, 1, 0)
END = datetime(2026, 3, 5, 3, 0)


def lifecycle(name: str, mark: str) -> dict[str, object]:
    """One signature of the controller's log."""
    return signature(name, "", channels=["slurm"], kind="lifecycle", tier=0, strength="none", mark=mark)


KNOWLEDGE = {
    "signatures": [
        signature("gpu-lost", "gpu.device", scope="gpu"),
        signature("power-lost", "host.psu", channels=["bmc"]),
        signature("lockup", "software.system", tier=7, strength="suggestive"),
        signature("exception", "software.user_code", channels=["job"], tier=11, strength="suggestive", scope="rank"),
        lifecycle("reason", "node_reason"),
        lifecycle("cancel", "job_cancel_requested"),
        lifecycle("reservation", "maintenance_window"),
    ],
    "components": load_components(),
}


def ended(job_id: str = "7", state: str = "FAILED", line_no: int = 1, **values: object) -> dict[str, object]:
    """The record of a job that ran from START to END, unless `values` say otherwise."""
    return job("acct", line_no, job_id, state, **{"start_ts": START, "end_ts": END, "elapsed_s": 7200} | values)


def step(line_no: int, ts: datetime, **values: object) -> dict[str, object]:
    """One step in the output of job 7."""
    return {
        "source_id": "out-7", "line_no": line_no, "local_ts": ts, "has_year": True, "ts_uncertainty_s": 1.0,
        "kind": "step", "step": line_no, "job_id": "7",
    } | values  # fmt: skip


def verdicts(con, columns: str = "job_id, bucket, component") -> list[tuple[object, ...]]:
    """These columns of all interruptions, by job."""
    return con.execute(f"select {columns} from interruptions order by job_id, ts").fetchall()


def test_the_plain_number_of_an_array_task_is_the_task():
    """What an output says of job 11 is about task 7_4, if the accounting prints both ids; there is no second run."""
    con = derived(
        job_records=[ended("7_4", job_number="11")],
        events=[event("out", 1, "exception", END, channel="job", job_id="11")],
        knowledge=KNOWLEDGE,
    )

    assert [("7_4", "unplanned", "software.user_code")] == verdicts(con)


def test_the_controller_tells_the_plain_number_of_an_array_task():
    """`JobId=7_4(11)` in the controller's log is enough to know that job 11 is task 7_4."""
    message = "REQUEST_KILL_JOB JobId=7_4(11) uid 1007"
    con = derived(events=[event("ctl", 1, "cancel", END, channel="slurm", job_id="7_4", message=message)])

    assert [("11", "7_4")] == con.execute("select number, job_id from job_numbers").fetchall()


def test_a_path_names_a_host_between_hyphens():
    """The event log `volta-08-sel.txt` speaks for the host volta-08."""
    con = derived(
        job_records=[ended(state="NODE_FAIL", nodes=["volta-08"])],
        events=[event("bmc", 1, "power-lost", END - timedelta(minutes=6), channel="bmc")],
        sources=[source("acct", "accounting", [START, END]), source("bmc", "bmc", [END], path="bmc/volta-08-sel.txt")],
        knowledge=KNOWLEDGE,
    )

    assert [("host.psu", "volta-08")] == verdicts(con, "component, node")


def test_a_kernel_that_hangs_is_a_fault_of_the_node():
    """A locked-up kernel breaks its job minutes later, when the controller gives the node up."""
    con = derived(
        job_records=[ended(state="NODE_FAIL")],
        events=[event("k", 1, "lockup", END - timedelta(minutes=7), node="n1")],
        knowledge=KNOWLEDGE,
    )

    assert [("7", "unplanned", "software.system")] == verdicts(con)


def test_the_cause_of_a_hang_is_as_old_as_the_hang():
    """A job that stood still for 80 minutes before it was cancelled is charged to what came as it stopped."""
    stop = END - timedelta(minutes=80)
    con = derived(
        job_records=[ended(state="CANCELLED", state_by="1007")],
        events=[event("k", 1, "gpu-lost", stop, node="n1")],
        progress=[step(n, stop - timedelta(minutes=5 - n)) for n in range(1, 5)],
        knowledge=KNOWLEDGE,
    )

    assert [("7", "unplanned", "gpu.device")] == verdicts(con)


def test_a_step_without_a_stamp_does_not_prove_that_work_went_on():
    """Steps that borrow the time of the last line of the file do not clear a GPU that was lost half an hour before."""
    con = derived(
        job_records=[ended()],
        events=[event("k", 1, "gpu-lost", END - timedelta(minutes=30), node="n1")],
        progress=[step(n, END, ts_uncertainty_s=None) for n in range(1, 9)],
        knowledge=KNOWLEDGE,
    )

    assert [("7", "unplanned", "gpu.device")] == verdicts(con)


def test_a_last_word_that_borrows_the_time_of_the_first_is_heard():
    """An exception at the end of an output whose only stamp stands in its head is no two hours old."""
    con = derived(
        job_records=[ended()],
        events=[event("out", 9, "exception", START, channel="job", job_id="7", ts_uncertainty_s=None)],
        knowledge=KNOWLEDGE,
    )

    assert [("7", "unplanned", "software.user_code")] == verdicts(con)


def test_a_line_between_distant_stamps_is_as_late_as_they_allow():
    """An exception somewhere in the two hours before the end may be the end's; it is not too old to be heard."""
    con = derived(
        job_records=[ended()],
        events=[event("out", 9, "exception", START, channel="job", job_id="7", ts_uncertainty_s=7190.0)],
        knowledge=KNOWLEDGE,
    )

    assert [("7", "unplanned", "software.user_code")] == verdicts(con)


def test_a_last_word_before_the_next_try_is_the_end_of_its_own():
    """An exception whose next stamp is that of the requeued try, hours after the end, came no later than the end."""
    con = derived(
        job_records=[
            ended(elapsed_s=7200),
            ended(state="COMPLETED", line_no=2, start_ts=END + timedelta(hours=3), end_ts=END + timedelta(hours=4)),
        ],
        events=[
            event(
                "out", 9, "exception", END - timedelta(minutes=2), channel="job", job_id="7", ts_uncertainty_s=10920.0
            )
        ],
        knowledge=KNOWLEDGE,
    )

    assert [("7", "unplanned", "software.user_code")] == verdicts(con)


def drained(*more: dict[str, object], reason: str):
    """A job that root cancels an hour after a node was drained for this reason."""
    fields = f'{{"reason": "{reason}"}}'
    return derived(
        job_records=[ended(state="CANCELLED", state_by="0")],
        events=[
            event("ctl", 1, "reason", END - timedelta(hours=1), node="n1", channel="slurm", fields=fields),
            *more,
        ],
        knowledge=KNOWLEDGE,
    )


def test_a_repair_is_planned_while_nothing_is_wrong():
    """A cancel by root after a drain for a swap of parts is planned."""
    assert [("7", "planned", None)] == verdicts(drained(reason="swap gpu2 (RMA 7013)"))


def test_a_repair_after_the_fault_is_not_planned():
    """The same drain says nothing of a plan if a GPU was lost before the cancel."""
    lost = event("k", 1, "gpu-lost", END - timedelta(minutes=5), node="n1")

    assert [("7", "unplanned", "gpu.device")] == verdicts(drained(lost, reason="swap gpu2 (RMA 7013)"))


def test_a_reservation_for_root_and_others_is_maintenance():
    """A window that root shares with another administrator is one all the same."""
    window = '"window_start": "2026-03-05T02:59:00", "window_end": "2026-03-05T09:00:00"'
    fields = f'{{"users": "root,ops", "reservation": "oct28", {window}}}'
    con = derived(
        job_records=[ended(state="CANCELLED", state_by="0")],
        events=[event("ctl", 1, "reservation", START - timedelta(hours=6), node="n1", channel="slurm", fields=fields)],
        knowledge=KNOWLEDGE,
    )

    assert [("7", "planned", None)] == verdicts(con)


def test_a_job_that_complains_of_its_gpu_had_it():
    """Of two jobs that fail within seconds, the one whose own output speaks of an uncorrectable error had the GPU."""
    ecc = signature("cuda-ecc", "gpu.hbm", channels=["job"], scope="rank", tier=5)
    lost = START + timedelta(hours=1)
    con = derived(
        job_records=[
            ended("7", end_ts=lost + timedelta(seconds=20), elapsed_s=3620, nodes=["n1"], gpu_count=1, name="a"),
            ended(
                "8", end_ts=lost + timedelta(seconds=30), elapsed_s=3630, nodes=["n1"], gpu_count=1, name="b", line_no=2
            ),
        ],
        events=[
            event("k", 1, "gpu-lost", lost, node="n1"),
            event("out", 1, "cuda-ecc", lost + timedelta(seconds=25), channel="job", job_id="8"),
        ],
        knowledge=KNOWLEDGE | {"signatures": [*KNOWLEDGE["signatures"], ecc]},
    )

    assert [("7", "unattributed"), ("8", "gpu.device")] == verdicts(con, "job_id, component")


def test_a_gpu_of_a_shared_node_breaks_one_job():
    """Of two jobs on one node, the one that failed a minute after the GPU was lost had it, not the later one."""
    soon, late = START + timedelta(minutes=61), START + timedelta(minutes=95)
    con = derived(
        job_records=[
            ended("7", end_ts=soon, elapsed_s=3660, nodes=["n1"], gpu_count=1, name="a"),
            ended("8", end_ts=late, elapsed_s=5700, nodes=["n1"], gpu_count=1, name="b", line_no=2),
        ],
        events=[event("k", 1, "gpu-lost", START + timedelta(hours=1), node="n1")],
        knowledge=KNOWLEDGE,
    )

    assert [("7", "unplanned", "gpu.device"), ("8", "unplanned", "unattributed")] == verdicts(con)


def test_the_run_time_tells_which_of_two_equal_hours_is_meant():
    """An end at 01:26 on the night when clocks go back in Chicago is at 06:26 UTC if the job ran for 26 minutes."""
    zone = {"time_zones": [{"priority": 1, "pattern": "*", "timezone": "America/Chicago", "basis": "told"}]}
    night = datetime(2023, 11, 5)
    con = derived(
        job_records=[
            ended(start_ts=night + timedelta(minutes=60), end_ts=night + timedelta(minutes=86), elapsed_s=5160),
            ended("8", start_ts=night, end_ts=night + timedelta(minutes=86), elapsed_s=5160, line_no=2, name="b"),
        ],
        knowledge=KNOWLEDGE | zone,
    )

    assert [
        ("7", datetime(2023, 11, 5, 6), datetime(2023, 11, 5, 7, 26)),
        ("8", datetime(2023, 11, 5, 5), datetime(2023, 11, 5, 6, 26)),
    ] == con.execute(
        "select job_id, start_ts at time zone 'UTC', end_ts at time zone 'UTC' from attempts order by job_id"
    ).fetchall()
