"""The limits of years, zones and runs: each just inside and just outside, worked out by hand."""

from datetime import datetime, timedelta

from case_worlds import KNOWLEDGE
from worlds import Row, derived, event, job, source

START = datetime(2026, 3, 5, 1, 0)
HOUR = 3600


def dump(name: str, cluster: str, jobs: int, shift_s: float = 0) -> list[Row]:
    """A cluster's dump of so many jobs, each of its own length, with all stamps shifted."""
    starts = [START + timedelta(minutes=7 * number, seconds=shift_s) for number in range(jobs)]
    return [
        job(f"{name}-{cluster}", number, str(number), "FAILED", cluster=cluster, start_ts=ts,
            end_ts=ts + timedelta(minutes=5 + number), elapsed_s=300 + 60 * number)
        for number, ts in enumerate(starts)
    ]  # fmt: skip


SHIFTS = {
    "two-jobs-may-agree-by-chance": (2, 6 * HOUR, None),
    "three-jobs-prove-a-zone": (3, 6 * HOUR, -6 * HOUR),
    "quarter-of-an-hour": (3, -900, 900),
    "records-are-rounded-by-a-second": (3, 1801, -1800),
    "two-seconds-are-no-rounding": (3, 1802, None),
    "fourteen-hours-east": (3, 14 * HOUR, -14 * HOUR),
    "no-zone-is-further-east": (3, 14 * HOUR + 900, None),
}


def test_three_jobs_that_agree_shift_a_dump():
    """A third dump is corrected by whole quarters of an hour if at least three of its jobs say by how much."""
    con = derived(
        job_records=[
            row
            for cluster, (jobs, shift_s, _) in SHIFTS.items()
            for row in (*dump("a", cluster, jobs), *dump("b", cluster, jobs), *dump("c", cluster, jobs, shift_s))
        ]
    )
    found = {name: (shift_s, anchors) for name, shift_s, anchors in con.execute("from zone_shifts").fetchall()}

    assert found == {
        f"c-{cluster}": (expected, jobs) for cluster, (jobs, _, expected) in SHIFTS.items() if expected is not None
    }


LAST_DAYS = {
    "two-days-before": ((3, 8), 2024),
    "three-days-before": ((3, 7), 2026),
    "within": ((3, 15), 2024),
    "two-days-after": ((3, 22), 2024),
    "three-days-after": ((3, 23), 2026),
}


def test_a_year_is_that_of_the_dated_stamps_two_days_around():
    """Dated stamps span 10 to 20 March 2024; a file of 2026 is of 2024 if it ends at most two days beyond that."""
    lasts = {name: datetime(2000, *day, 12) for name, (day, _) in LAST_DAYS.items()}
    accounts = [
        job(f"{name}/acct", 1, "7", "COMPLETED", cluster=name, start_ts=datetime(2024, 3, 10, 9),
            end_ts=datetime(2024, 3, 20, 9))
        for name in lasts
    ]  # fmt: skip
    undated = {"has_year": False, "modified_ts": datetime(2026, 6, 1)}
    con = derived(
        job_records=accounts,
        events=[event(f"{name}/k", 1, "gpu-lost", last, has_year=False) for name, last in lasts.items()],
        sources=[
            *(source(row["source_id"], "accounting", [START]) for row in accounts),
            *(source(f"{name}/k", "kernel", [last], **undated) for name, last in lasts.items()),
        ],
        knowledge=KNOWLEDGE,
    )
    found = con.execute("select source_id, year, is_year_assumed from clocks where source_id like '%/k'").fetchall()

    # what lies outside has nothing but the file's date
    assert sorted(found) == sorted((f"{name}/k", year, year == 2026) for name, (_, year) in LAST_DAYS.items())


def test_a_file_is_no_younger_than_the_day_after_its_date():
    """With nothing dated beside it, a file of 1 June 2026 ends on 1 or, in another zone, 2 June; 3 June is of 2025."""
    lasts = [datetime(2000, 6, day, 12) for day in (1, 2, 3)]
    con = derived(
        events=[event(f"k{last.day}", 1, "gpu-lost", last, has_year=False) for last in lasts],
        sources=[
            source(f"k{last.day}", "kernel", [last], has_year=False, modified_ts=datetime(2026, 6, 1, 12))
            for last in lasts
        ],
        knowledge=KNOWLEDGE,
    )

    assert con.execute("select year, is_year_assumed from clocks order by source_id").fetchall() == [
        (2026, True), (2026, True), (2025, True)
    ]  # fmt: skip


def test_a_year_turns_where_the_month_falls_by_more_than_half_a_year():
    """From December to June is a file out of order; to May it is a new year."""
    con = derived(
        events=[
            event(name, number, "gpu-lost", datetime(2000, month, 9), has_year=False)
            for name, months in (("june", (12, 6)), ("may", (12, 5)))
            for number, month in enumerate(months, 1)
        ],
        knowledge=KNOWLEDGE,
    )

    assert con.execute("select source_id, turn_lines from year_turns").fetchall() == [("june", []), ("may", [2])]


AGAIN = {
    "48-h-later": (48 * HOUR, {}, 1),
    "more-than-48-h-later": (48 * HOUR + 1, {}, 2),
    "at-once": (0, {}, 1),
    "beside-it": (-1, {}, 2),
    "when-it-was-done": (60, {"state": "COMPLETED"}, 2),
    "with-another-name": (60, {"name": "eval"}, 2),
    "by-somebody-else": (60, {"user_name": "ada"}, 2),
    "on-fewer-nodes": (60, {"node_count": 1}, 2),
    "in-another-folder": (60, {"work_dir": "/home/mira/b"}, 2),
    "in-another-partition": (60, {"partition": "spare"}, 1),
}


def test_work_submitted_again_within_two_days_is_one_run():
    """The same work, not yet done, not beside itself, and at most 48 h after it broke off; a partition may change."""
    records = []
    for number, (gap_s, changed, _) in enumerate(AGAIN.values()):
        end = START + timedelta(hours=2)
        again = end + timedelta(seconds=gap_s)
        first = {"name": f"train-{number}", "work_dir": "/home/mira/a", "partition": "gpu", "state": "FAILED"}
        first |= {"start_ts": START, "end_ts": end, "elapsed_s": 7200}
        second = first | {"start_ts": again, "end_ts": again + timedelta(hours=1), "elapsed_s": 3600} | changed
        if "state" in changed:  # it is the earlier one that was done
            first, second = first | changed, second | {"state": "FAILED"}
        records += [
            job("acct", 2 * number + place, str(2 * number + place), **row) for place, row in enumerate((first, second))
        ]
    con = derived(job_records=records)
    found = con.execute("""
        select job_id::integer // 2 as number, count(distinct run_id) from attempts group by number order by number
    """).fetchall()

    assert {name: runs for name, (_, runs) in zip(AGAIN, found, strict=True)} == {
        name: runs for name, (_, _, runs) in AGAIN.items()
    }
