"""What an interruption cost, against sums done by hand."""

from datetime import datetime, timedelta

import pytest
from worlds import derived, job

from incidentlab.signatures import load_components

START = datetime(2026, 3, 5, 1, 0)
END = START + timedelta(hours=2)


def mark(minute: float, kind: str, step: int | None = None, job_id: str = "7") -> dict[str, object]:
    """A line of a job's output, so many minutes after its start."""
    return {
        "source_id": f"out-{job_id}",
        "line_no": int(minute * 60),
        "local_ts": START + timedelta(minutes=minute),
        "has_year": True,
        "ts_uncertainty_s": 1.0,
        "kind": kind,
        "step": step,
        "job_id": job_id,
    }


STEPS = [mark(minute, "step", minute * 10) for minute in range(10, 111, 10)]
"""Every tenth minute a hundred steps, the last of them, 1,100, ten minutes before the end."""


def losses(*marks: dict[str, object]) -> dict[str, tuple[float | None, float, float | None, str]]:
    """(GPU-hours, lower, upper bound, grade) by part, of two hours on 16 GPUs that fail, and a second try."""
    con = derived(
        job_records=[
            job("acct", 1, "7", "FAILED", start_ts=START, end_ts=END),
            job("acct", 2, "8", "RUNNING", start_ts=END + timedelta(minutes=30)),
        ],
        progress=sorted(marks, key=lambda row: (row["source_id"], row["line_no"])),
        knowledge={"components": load_components()},
    )
    rows = con.execute("select part, gpu_h, gpu_h_lo, gpu_h_hi, grade from losses").fetchall()
    return {
        part: (*(None if value is None else round(value, 3) for value in hours), grade) for part, *hours, grade in rows
    }


def test_a_missing_mark_makes_a_range_not_a_zero():
    """Without a checkpoint the rework is between nothing and every step of the attempt."""
    found = losses(*STEPS)

    # 16 GPUs: ten minutes of hang are 2.667 GPU-h, a hundred minutes of steps 26.667
    assert found["hang"] == (2.667, 2.667, 2.667, "A")
    assert found["rework"] == (None, 0.0, 26.667, "B")


def test_rework_counts_from_the_step_that_was_saved():
    """A checkpoint of step 800 that is finished at step 1,000 loses the steps since 800."""
    found = losses(*STEPS, mark(100.5, "checkpoint_done", 800))

    # from minute 80 to minute 110
    assert found["rework"] == (8.0, 8.0, 8.0, "A")


def test_a_step_between_two_lines_bounds_the_rework():
    """Where the log shows every hundredth step only, step 850 was reached between two of its lines."""
    found = losses(*STEPS, mark(100.5, "checkpoint_done", 850))

    assert found["rework"] == (None, 5.333, 8.0, "B")


def test_a_checkpoint_before_the_first_step_saves_none_of_them():
    """The state that the attempt began with is all that is left of it."""
    found = losses(*STEPS, mark(5, "checkpoint_done", 50))

    assert found["rework"] == (26.667, 26.667, 26.667, "A")


def test_a_checkpoint_without_a_step_is_as_old_as_its_beginning():
    """Without a number the line that announced the checkpoint says whose state it holds."""
    found = losses(*STEPS, mark(90.5, "checkpoint_start"), mark(100.5, "checkpoint_done"))

    # from minute 90.5 to minute 110
    assert found["rework"] == (5.2, 5.2, 5.2, "A")


def test_a_checkpoint_that_says_nothing_is_taken_at_its_word():
    """With neither number nor beginning its own time is assumed, and graded so."""
    found = losses(*STEPS, mark(100.5, "checkpoint_done"))

    assert found["rework"] == (2.533, 2.533, 2.533, "C")


@pytest.mark.parametrize(("loaded", "hours"), [(600, 13.333), (900, 5.333), (5000, 8.0)])
def test_what_the_next_try_loads_was_saved(loaded: int, hours: float):
    """The step that the next try goes on from decides, unless it is none of this attempt's."""
    found = losses(*STEPS, mark(100.5, "checkpoint_done", 800), mark(160, "checkpoint_load", loaded, job_id="8"))

    assert found["rework"] == (hours, hours, hours, "A")


def test_steps_without_stamps_say_nothing_of_time():
    """Steps that all stand behind one stamp do not make the time since then a hang."""
    unstamped = [{**mark(1, "step", n), "line_no": n, "ts_uncertainty_s": 6000.0} for n in range(1, 51)]

    # nothing bounds the hang but the attempt: two hours on 16 GPUs
    assert losses(*unstamped)["hang"] == (None, 0.0, 32.0, "B")
