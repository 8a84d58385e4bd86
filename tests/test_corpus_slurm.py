"""What a real Slurm wrote, from the controller's log to accounting, with the truth beside it."""

from collections import Counter
from datetime import datetime

import pytest
from corpus import needs_corpus, rows, truth

pytestmark = needs_corpus

# -- a teaching cluster of four nodes

CLUSTER = "data_cluster"
ALL_NODES = [f"compute0{number}" for number in range(4)]


def test_nodes_set_down_by_the_controller():
    """Nine lines set nodes down; a host list in one of them is one event a node."""
    found = rows(
        """
        select strftime(ts, '%m-%dT%H:%M:%S'), list(node order by node) from events
        where signature = 'slurm-node-down' group by ts, line_no order by ts
        """,
        CLUSTER,
    )

    assert found == [
        ("02-01T15:08:08", ALL_NODES),
        ("02-02T11:36:25", ["compute00"]),
        ("02-02T11:41:25", ["compute01"]),
        ("02-02T12:03:05", ["compute02", "compute03"]),
        ("02-02T14:19:58", ["compute00", "compute01", "compute03"]),
        ("02-02T14:24:58", ["compute02"]),
        ("02-05T08:09:28", ALL_NODES),
        ("02-15T12:32:44", ALL_NODES),
        ("03-01T08:32:08", ALL_NODES),
    ]


@pytest.mark.parametrize(
    ("condition", "count"),
    [
        ("mark = 'node_rebooted'", 16),
        ("mark = 'job_time_limit'", 24),
        ("mark = 'node_invalid'", 24),
        ("signature = 'slurm-node-drained-by-controller'", 8),
        ("mark = 'controller_start' and message like 'slurmctld version%'", 41),
        ("signature = 'slurm-daemon-fatal'", 4),
    ],
)
def test_what_the_controller_wrote(condition: str, count: int):
    """Reboots, time limits, invalid and drained nodes, starts and fatal errors of the controller, counted."""
    assert rows(f"select count(*) from events where channel = 'slurm' and {condition}", CLUSTER) == [(count,)]


def test_job_completion_rows():
    """360 rows in four states, of 19 users."""
    found = dict(rows("select state, count(*) from intake.job_records group by state", CLUSTER))

    assert found == {"CANCELLED": 38, "COMPLETED": 216, "FAILED": 79, "TIMEOUT": 27}
    assert rows("select count(distinct user_name) from intake.job_records", CLUSTER) == [(19,)]


def test_time_limits_and_users_cancels_are_policy():
    """No job that ran into its limit is an unplanned interruption."""
    found = rows(
        """
        select distinct i.bucket from interruptions as i inner join attempts as a using (attempt_id)
        where a.state = 'TIMEOUT'
        """,
        CLUSTER,
    )

    assert found == [("policy",)]


# -- accounting as it breaks


def states(path: str) -> Counter:
    """Records of an accounting dump, jobs and steps alike, by state."""
    return Counter(state for (state,) in rows("select state from intake.job_records", path))


def test_a_clean_dump():
    """68 records, all completed."""
    assert states("gcm/sample-sacct-output.txt") == {"COMPLETED": 68}


@pytest.mark.parametrize("name", ["one-multiline", "fake-line-break"])
def test_broken_records_are_repaired(name: str):
    """A record that goes on after a line break gives the rows of the repaired text that stands beside it."""
    columns = "job_id, state, exit_code, exit_signal, name, user_name, start_ts, end_ts, elapsed_s, node_count, nodes"
    ask = f"select {columns} from intake.job_records order by all"

    broken = rows(ask, f"gcm/sample-sacct-{name}.txt")
    assert broken == rows(ask, f"gcm/sample-sacct-{name}-expected.txt")
    assert states(f"gcm/sample-sacct-{name}.txt") == {"CANCELLED": 1, "FAILED": 2, "REQUEUED": 1}


def test_a_cut_row_is_counted():
    """A row that ends in the middle is no record; the source says that one line was not understood."""
    path = "gcm/sample-sacct-output-with-invalid-lines.txt"

    assert rows("select lines, unmatched_lines, unparsed_lines from sources", path) == [(2, 1, 1)]
    assert rows("select * from intake.job_records", path) == []


# -- campaigns with a truth for every run

ALPHA, CHARLIE = "real-slurm/alpha", "real-slurm/charlie"
ZONE = "Europe/Berlin"
RUNS = [(place, row) for place in (ALPHA, CHARLIE) for row in truth(f"{place}/runs.csv")]
UNSEEN = {
    (ALPHA, "27", "0"): "a rank failed, the script ended with 0: only its output says so",
    (ALPHA, "31", "0"): "a requeue by an operator leaves no line that names him",
    (ALPHA, "35", "0"): "the script left in the grace time of a preemption that no line names",
    (CHARLIE, "1", "1"): "a requeue by an operator leaves no line that names him",
}


def is_planned(row: dict[str, str]) -> bool:
    """Whether people or policy ended the run."""
    return row["planned"] == "yes"


def judged(place: str, row: dict[str, str]) -> list[tuple]:
    """(bucket, kind, component, confidence, node) of the interruption of one run; empty if it has none."""
    return rows(
        f"""
        select i.bucket, i.kind, i.component, i.confidence, i.node
        from interruptions as i inner join attempts as a using (attempt_id)
        where a.job_id = '{row["job"]}' and abs(epoch(a.start_ts) - epoch(timestamptz '{row["start_utc"]}')) <= 2
        """,
        place,
        timezone=ZONE,
    )


def runs(*, started: bool = True) -> list:
    """A case for each run of both campaigns."""
    return [
        pytest.param(
            place,
            row,
            id=f"{place[11:]}-{row['job']}-{row['attempt']}",
            marks=[pytest.mark.xfail(strict=True, reason=UNSEEN[key])]
            if (key := (place, row["job"], row["attempt"])) in UNSEEN
            else [],
        )
        for place, row in RUNS
        if bool(row["start_utc"]) == started
    ]


@pytest.mark.parametrize(("place", "row"), runs())
def test_a_run_is_interrupted_as_it_was(place: str, row: dict[str, str]):
    """A run that broke off is one interruption in the right bucket; one that did not is none."""
    found = [bucket == "unplanned" for bucket, *_ in judged(place, row)]

    assert found == ([not is_planned(row)] if row["interrupted"] == "yes" else [])


@pytest.mark.parametrize("place", [ALPHA, CHARLIE])
def test_no_run_is_made_up(place: str):
    """Every attempt is a run of the truth file, and each of its runs is one attempt."""
    found = rows("select job_id, start_ts from attempts order by all", place, timezone=ZONE)
    wanted = sorted(
        (row["job"], datetime.fromisoformat(row["start_utc"]))
        for where, row in RUNS
        if where == place and row["start_utc"]
    )

    assert [job for job, _ in found] == [job for job, _ in wanted]
    assert all(abs((start - meant).total_seconds()) <= 2 for (_, start), (_, meant) in zip(found, wanted, strict=True))


# Where the logs tell a cause: the truth's word, and the component that is meant by it.
TOLD = {
    ("1", "0"): ("gpu.device", "hgx-a04"),
    ("1", "2"): ("host.cpu", "hgx-a01"),
    ("1", "4"): ("gpu.device", "hgx-a06"),
    ("2", "1"): ("gpu.hbm", "hgx-a07"),
    ("2", "3"): ("software.user_code", "hgx-a07"),
    ("23", "0"): ("software.user_code", "hgx-a09"),
    ("24", "0"): ("software.user_code", "hgx-a09"),
    ("47", "0"): ("software.user_code", None),
}


@pytest.mark.parametrize(("job", "attempt"), list(TOLD))
def test_a_cause_that_the_logs_tell_is_found(job: str, attempt: str):
    """Kernel lines, a memory limit, an operator's reason or an exception name the cause and its node."""
    [row] = [row for place, row in RUNS if place == ALPHA and (row["job"], row["attempt"]) == (job, attempt)]
    [(_, _, component, confidence, node)] = judged(ALPHA, row)

    assert (component, node) == TOLD[job, attempt]
    assert confidence in {"confirmed", "suspected"}


@pytest.mark.parametrize(("place", "row"), [case for case in runs() if case.values[1]["cause"] == "unknown"])
def test_an_unknown_cause_stays_unknown(place: str, row: dict[str, str]):
    """Where the truth file says that nothing tells, nothing is charged."""
    [(_, _, component, confidence, _)] = judged(place, row)

    assert confidence == "unattributed"
    assert component == "unattributed" or component.startswith("unknown.")


def test_a_node_that_hit_no_job_makes_no_interruption():
    """A node that was silent for a moment, and one that went down while idle, are charged with nothing."""
    found = rows(
        """
        select node from interruptions
        where component = 'unknown.node_unresponsive' and node in ('hgx-a05', 'hgx-a06')
        """,
        ALPHA,
        timezone=ZONE,
    )

    assert found == []


def test_an_outage_that_cost_no_job_is_no_cause():
    """Authentication failed for 47 s, in which no job ended: none of those that failed before is charged to it."""
    found = rows(
        "select job_id from interruptions where component like 'dependency.%'", "real-slurm/munge-outage", timezone=ZONE
    )

    assert found == []
    assert rows(
        "select count(*) > 0 from events where signature = 'slurm-authentication-failed'",
        "real-slurm/munge-outage",
        timezone=ZONE,
    ) == [(True,)]
