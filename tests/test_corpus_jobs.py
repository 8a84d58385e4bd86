"""Outputs of real jobs: how they ended, and why, as far as they tell."""

from datetime import datetime, timedelta

import pytest
from corpus import needs_corpus, rows, truth

pytestmark = needs_corpus


def ends(*places: str) -> list[tuple]:
    """(bucket, kind, component) of all interruptions in these places, by time."""
    return rows("select bucket, kind, component from interruptions order by ts, attempt_id", *places)


# -- runs that nothing broke


@pytest.mark.parametrize(
    ("name", "job", "when", "kind"),
    [
        ("meg_gpt2_base_n64_dp1_tp4_pp64-1809655.out", "1809655", "2021-05-24 09:50:34", "time_limit"),
        ("meg_gpt2_base_n4_dp1_tp4_pp4-1809579.out", "1809579", "2021-05-23 08:45:57", "cancel"),
        ("meg_ds_zero_gpt2_perf_n16-1999616.out", "1999616", "2021-05-27 21:42:11", "time_limit"),
    ],
)
def test_a_time_limit_or_cancel_is_policy(name: str, job: str, when: str, kind: str):
    """A job whose output ends with the scheduler's banner was not broken; the host in the banner is not to blame."""
    found = rows(
        "select job_id, strftime(ts, '%Y-%m-%d %T'), bucket, kind, component, node from interruptions",
        f"bigscience/{name}",
    )

    assert found == [(job, when, "policy", kind, None, None)]


def test_a_clean_run_with_complaints_at_its_end():
    """Warnings of a communicator that is taken down after the work are no incident."""
    place = "gke-nccl-faults/survivor_set_rerun_16gpu.txt"

    assert ends(place) == []
    assert rows("select * from incidents", place) == []


# -- causes that the output tells


def test_a_taken_port_is_the_cause_and_not_the_clean_up():
    """Two hosts cannot bind the port of the store; dozens of cgroup warnings and the cancel that follows are noise."""
    place = "cscs-torchrun-log"

    assert ends(place) == [("unplanned", "fault", "software.user_code")]
    assert rows("select distinct signature from events where kind = 'fault'", place) == [("store-port-taken",)]
    assert rows("select distinct node from events where mark = 'task_failed' order by all", place) == [
        ("ault43",),
        ("ault44",),
    ]


def test_a_wrong_interface_name_is_configuration():
    """NCCL is told to use an interface that does not exist: no node, GPU or network is accused."""
    place = "gke-nccl-faults/comms_fault_badiface_rank0.txt"

    assert ends(place) == [("unplanned", "fault", "software.user_code")]
    assert rows("select distinct component from events where kind = 'fault'", place) == [("software.user_code",)]


def test_a_survivor_names_the_peer_that_is_gone():
    """27 warnings of a surviving rank name the lost host as peer; the survivor's own host is only a witness."""
    place = "gke-nccl-faults/nodeloss_fault_survivor_rank0.txt"
    closed = rows(
        """
        select count(*), count(distinct fields ->> 'peer_host'), min(fields ->> 'peer_host') from events
        where signature = 'nccl-peer-closed' and fields ->> 'source' is not null
        """,
        place,
    )

    assert closed[0][:2] == (27, 1)
    assert closed[0][2].partition(".")[0].endswith("zcn4")
    assert [(bucket, kind) for bucket, kind, _ in ends(place)] == [("unplanned", "fault")]
    assert rows("select component from interruptions where confidence <> 'unattributed'", place) == []


def test_a_victim_that_was_killed_says_nothing():
    """The output of a rank on the lost host just stops: heartbeats up to iteration 85, and no error."""
    place = "gke-nccl-faults/nodeloss_victim_rank16.txt"

    assert rows("select * from events where kind in ('fault', 'symptom')", place) == []
    assert rows("select max(step) from progress", place) == [(85,)]


def test_the_error_code_of_another_makers_device_accuses_no_gpu():
    """A number inside a warning, and the rest of a traceback without its head, are no device fault."""
    found = rows("select distinct component from events where kind = 'fault'", "dlrover")

    assert [component for (component,) in found if component.startswith(("gpu.", "host."))] == []


# -- torchrun: scenarios with a truth

TORCHRUN = "real-torchrun"
SCENARIOS = truth(f"{TORCHRUN}/truth.csv")
CAUSES = {
    "Software Bug": {"software.user_code", "software.system"},
    "Dependency": {"dependency.filesystem", "dependency.service"},
    "GPU HBM3 Memory": {"gpu.hbm"},
    "host": {"unknown.node_unresponsive"},
    "unknown": set(),
}
# Nothing ended, as far as any of its files tells.
QUIET = {"15-launcher-killed-ranks-live-on", "19-clean-run"}
# The cause is in no line: a rank hangs or leaves with 0, a host stops, nobody resolves a name.
UNTOLD = {
    "05-hang-others-time-out",
    "17-monitored-barrier",
    "20-one-rank-leaves-early",
    "23-host-name-not-resolvable",
    "25-node-loses-power",
}
WRONG = {"24-early-failure-then-success": "a missing file may be the program's or the file system's fault"}
ZONES = {"America/Los_Angeles": timedelta(hours=8)}


def scenario(name: str) -> list[tuple]:
    """(bucket, component, confidence, ts) of the interruptions of one scenario, out of the warehouse of all."""
    return rows(
        f"""
        select distinct i.bucket, i.component, i.confidence, i.ts
        from interruptions as i
        inner join output_groups as g using (attempt_id)
        inner join sources as s using (source_id)
        where s.path like '%/{name}/%'
        """,
        TORCHRUN,
    )


def scenarios(*without: set[str]) -> list:
    """A case for each scenario that is not in one of these sets."""
    return [
        pytest.param(
            row,
            id=row["scenario"],
            marks=[pytest.mark.xfail(strict=True, reason=WRONG[row["scenario"]])] if row["scenario"] in WRONG else [],
        )
        for row in SCENARIOS
        if not any(row["scenario"] in names for names in without)
    ]


@pytest.mark.parametrize("row", [case.values[0] for case in scenarios()], ids=lambda row: row["scenario"])
def test_a_scenario_is_one_interruption_or_none(row: dict[str, str]):
    """Launcher, ranks and error files of a folder are one run, which ends once, when and as the truth says."""
    found = scenario(row["scenario"])
    bucket = "policy" if row["planned"] == "yes" else "unplanned"
    end = datetime.fromisoformat(row["utc_end"]) - ZONES.get(row["zone"], timedelta())

    assert [which for which, *_ in found] == ([] if row["scenario"] in QUIET else [bucket])
    assert all(abs(end - ts) < timedelta(seconds=30) for *_, ts in found)


@pytest.mark.parametrize("row", scenarios(QUIET, UNTOLD, {"16-launcher-sigterm"}))
def test_the_cause_of_a_scenario(row: dict[str, str]):
    """The component is the one that the truth's words mean; an unknown cause is not attributed."""
    [(_, component, confidence, _)] = scenario(row["scenario"])
    meant = CAUSES[row["cause"]]

    assert component in meant if meant else confidence == "unattributed"


@pytest.mark.parametrize("name", sorted(UNTOLD))
def test_a_cause_that_nothing_tells_is_not_attributed(name: str):
    """Survivors that complain, and time-outs, are symptoms: neither a rank nor a device is charged."""
    assert [confidence for _, _, confidence, _ in scenario(name)] == ["unattributed"] * bool(SCENARIOS)
