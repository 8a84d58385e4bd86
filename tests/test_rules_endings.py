"""The limits of why a run ended: each just inside and just outside, worked out by hand."""

from datetime import UTC, timedelta

import pytest
from case_worlds import END, Case, interruptions, line, world

DAY = 86_400
OF_A_WEEK = {"start_ts": END - timedelta(days=7), "elapsed_s": 7 * DAY}
BY_OWNER, BY_ROOT = {"state_by": "1007"}, {"state_by": "0"}
EVERY_10_S, EVERY_300_S = (0, -10, -20, -30), (0, -300, -600, -900)


def reason(text: str, seconds: float, host: str = "a") -> dict:
    """A reason that is set for a node."""
    return line("reason", seconds, host, fields=f'{{"reason": "{text}"}}')


def idle(seconds: float, gaps: tuple[int, ...], state: str) -> Case:
    """A job whose last step was so long before its end, and which its owner or its limit ended."""
    return Case(state=state, steps=sorted(gap - seconds for gap in gaps), record=BY_OWNER)


def cancelled(uid: int, seconds: float) -> Case:
    """A job that failed so long after somebody asked for its end."""
    return Case([line("cancel", seconds, fields=f'{{"uid": "{uid}"}}')])


def drained(seconds: float, text: str, *more: dict, state: str = "REQUEUED", **record: object) -> Case:
    """A job of a week, one of whose nodes was drained so long before it ended."""
    return Case([reason(text, -seconds), *more], state=state, record=OF_A_WEEK | record)


MAINTAINED, BROKEN = ("planned", "maintenance"), ("unplanned", "fault")

CASES = {
    # a plan is for the same day
    "drained-within-a-day": (drained(DAY - 1, "fw upgrade"), MAINTAINED),
    "drained-a-day-ago": (drained(DAY + 1, "fw upgrade"), BROKEN),
    "repair-within-a-day": (drained(DAY - 1, "swap gpu2"), MAINTAINED),
    "repair-a-day-ago": (drained(DAY + 1, "swap gpu2"), BROKEN),
    "reboot-within-a-day": (Case([line("reboot", 1 - DAY)], "REQUEUED", record=OF_A_WEEK), MAINTAINED),
    "reboot-a-day-ago": (Case([line("reboot", -1 - DAY)], "REQUEUED", record=OF_A_WEEK), BROKEN),
    "reboot-4-s-after": (Case([line("reboot", 4)], "REQUEUED"), MAINTAINED),
    "reboot-6-s-after": (Case([line("reboot", 6)], "REQUEUED"), BROKEN),
    # parts are changed according to plan only if nothing was wrong and nobody but the administrator sent the job away
    "repair-by-root": (drained(60, "swap gpu2", state="CANCELLED", **BY_ROOT), MAINTAINED),
    "repair-by-owner": (drained(60, "swap gpu2", state="CANCELLED", **BY_OWNER), ("policy", "cancel")),
    "drained-for-no-work": (drained(60, "holding for ada"), BROKEN),
    "repair-of-a-fault": (drained(60, "swap gpu2", line("gpu-lost", -90)), BROKEN),
    "repair-of-a-failure": (drained(60, "swap gpu2", state="FAILED"), BROKEN),
    # who is sent away was well until a quarter of a minute before
    "complained-16-s-before": (drained(60, "fw upgrade", line("gpu-lost", -30), line("peer-gone", -16)), BROKEN),
    "complained-15-s-before": (drained(60, "fw upgrade", line("gpu-lost", -30), line("peer-gone", -15)), MAINTAINED),
    "timed-out-while-drained": (drained(60, "fw upgrade", line("watchdog", -5)), ("unplanned", "hang")),
    "failed-while-drained": (drained(60, "fw upgrade", state="FAILED"), MAINTAINED),
    "failed-by-a-fault-while-drained": (drained(60, "fw upgrade", line("gpu-lost", -30), state="FAILED"), BROKEN),
    # a job hangs after ten minutes without a step, or three times its usual gap
    "idle-600-s": (idle(600, EVERY_10_S, "CANCELLED"), ("policy", "cancel")),
    "idle-601-s": (idle(601, EVERY_10_S, "CANCELLED"), ("unplanned", "hang")),
    "idle-600-s-at-its-limit": (idle(600, EVERY_10_S, "TIMEOUT"), ("policy", "time_limit")),
    "idle-601-s-at-its-limit": (idle(601, EVERY_10_S, "TIMEOUT"), ("unplanned", "hang")),
    "idle-three-slow-steps": (idle(900, EVERY_300_S, "CANCELLED"), ("policy", "cancel")),
    "idle-longer-than-three-slow-steps": (idle(901, EVERY_300_S, "CANCELLED"), ("unplanned", "hang")),
    # the scheduler's and the owner's word count within three and five minutes of the end, before and after it
    "preempted-179-s-before": (Case([line("preempted", -179)], "REQUEUED"), ("policy", "preempt")),
    "preempted-181-s-before": (Case([line("preempted", -181)], "REQUEUED"), BROKEN),
    "preempted-179-s-after": (Case([line("preempted", 179)], "REQUEUED"), ("policy", "preempt")),
    "preempted-181-s-after": (Case([line("preempted", 181)], "REQUEUED"), BROKEN),
    "signalled-299-s-before": (cancelled(1007, -299), ("policy", "cancel")),
    "signalled-301-s-before": (cancelled(1007, -301), BROKEN),
    "signalled-by-root": (cancelled(0, -10), BROKEN),
    # who cancels what: an owner as he likes, an operator for a reason that he does not give
    "cancelled-by-owner": (Case(state="CANCELLED", record=BY_OWNER), ("policy", "cancel")),
    "cancelled-by-root": (Case(state="CANCELLED", record=BY_ROOT), ("unplanned", "cancel")),
    "cancelled-by-owner-after-a-fault": (
        Case([line("gpu-lost", -30)], "CANCELLED", record=BY_OWNER),
        ("policy", "cancel"),
    ),
    # from 45 minutes before to ten minutes after the end, a fault may be why somebody cancelled, a time-out why it hung
    "cancelled-2700-s-after-a-fault": (Case([line("gpu-lost", -2700)], "CANCELLED"), ("unplanned", "cancel")),
    "cancelled-2701-s-after-a-fault": (Case([line("gpu-lost", -2701)], "CANCELLED"), ("policy", "cancel")),
    "cancelled-600-s-before-a-fault": (Case([line("gpu-lost", 600)], "CANCELLED"), ("unplanned", "cancel")),
    "cancelled-601-s-before-a-fault": (Case([line("gpu-lost", 601)], "CANCELLED"), ("policy", "cancel")),
    "timed-out-2700-s-before": (Case([line("watchdog", -2700)]), ("unplanned", "hang")),
    "timed-out-2701-s-before": (Case([line("watchdog", -2701)]), BROKEN),
    "timed-out-600-s-after": (Case([line("watchdog", 600)]), ("unplanned", "hang")),
    "timed-out-601-s-after": (Case([line("watchdog", 601)]), BROKEN),
}


@pytest.fixture(scope="module")
def found() -> dict[str, dict]:
    """The interruption of each case."""
    return interruptions({name: case for name, (case, _) in CASES.items()})


@pytest.mark.parametrize("name", CASES)
def test_limits_of_endings(found: dict[str, dict], name: str):
    """Bucket and kind of each case are those that the rule beside it gives."""
    assert (found[name]["bucket"], found[name]["kind"]) == CASES[name][1]


def test_the_first_component_speaks_for_a_heterogeneous_job():
    """The scheduler keeps a record for each component, but one job was interrupted once."""
    con = world([Case(record={"job_id": f"900+{part}"}) for part in range(3)])

    assert con.execute("select job_id from interruptions").fetchall() == [("900+0",)]


def window(case: int, opens: float, closes: float) -> dict:
    """An announced window of node a of a case, in seconds after its job's end."""
    start, end = (END.replace(tzinfo=UTC) + timedelta(seconds=seconds) for seconds in (opens, closes))
    return {"scope": f"n{case}a", "start_ts": start, "end_ts": end, "reason": "announced"}


WINDOWS = [
    ("closed-600-s-before", (-3600, -600), MAINTAINED),
    ("closed-601-s-before", (-3600, -601), BROKEN),
    ("opens-300-s-after", (300, 3600), MAINTAINED),
    ("opens-301-s-after", (301, 3600), BROKEN),
]


def test_a_window_reaches_a_little_beyond_its_ends():
    """Jobs are sent away up to five minutes before a window opens, and break up to ten minutes after it closed."""
    windows = [window(number, *span) for number, (_, span, _) in enumerate(WINDOWS, 100)]
    found = interruptions({name: Case(state="REQUEUED") for name, *_ in WINDOWS}, {"maintenance_windows": windows})

    assert [(row["bucket"], row["kind"]) for row in found.values()] == [expected for *_, expected in WINDOWS]


def test_a_fault_inside_a_window_is_a_fault():
    """A window for all explains a requeue and a root's cancel, not a lost GPU, an owner's cancel or a time limit."""
    cases = {
        "requeued": (Case(state="REQUEUED"), MAINTAINED),
        "failed": (Case(), MAINTAINED),
        "cancelled-by-root": (Case(state="CANCELLED", record=BY_ROOT), MAINTAINED),
        "cancelled-by-owner": (Case(state="CANCELLED", record=BY_OWNER), ("policy", "cancel")),
        "at-its-limit": (Case(state="TIMEOUT"), ("policy", "time_limit")),
        "gpu-lost": (Case([line("gpu-lost", -30)]), BROKEN),
    }
    windows = [{**window(0, -600, 600), "scope": "cluster"}]
    found = interruptions({name: case for name, (case, _) in cases.items()}, {"maintenance_windows": windows})

    assert {name: (row["bucket"], row["kind"]) for name, row in found.items()} == {
        name: expected for name, (_, expected) in cases.items()
    }
